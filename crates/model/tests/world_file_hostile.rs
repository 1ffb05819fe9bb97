//! No text makes the reader panic, hang or grow without bound.

use nimbus_model::world_file::{self, PROBLEMS_MAX};
use proptest::prelude::*;
use std::sync::OnceLock;

/// Good files to spoil.
fn good() -> &'static [String] {
    static GOOD: OnceLock<Vec<String>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
        ["hello.toml", "playground.toml"]
            .map(|name| std::fs::read_to_string(format!("{folder}{name}")).expect("an example"))
            .to_vec()
    })
}

/// Pieces that are valid somewhere, so that spoiled files get past the first checks.
const PIECES: &[&str] = &[
    "",
    "-",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "0",
    "-1",
    "99999999999999999999",
    "\"\"",
    "[]",
    "{}",
    "[[bodies]]",
    "\n",
    "=",
    "true",
    "[0, 0, 0]",
    "{ ball = { radius = 1 } }",
    "repeat = { count = [9, 9, 9], spacing = [0, 1, 1] }",
    "[",
    "\"",
    "é",
    "name = \"x\"\n",
    "kind = \"static\"\n",
    "1979-05-27",
    "0xffff_ffff_ffff_ffff",
    "[[injections.choices]]\n",
    "box[9]",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    match world_file::parse(text, "hostile.toml") {
        Ok(world) => {
            let again = world_file::parse(&world_file::write(&world), "written.toml");
            prop_assert_eq!(again.map_err(|p| p.to_string()), Ok(world));
        }
        Err(problems) => {
            prop_assert!(!problems.list.is_empty() && problems.list.len() <= PROBLEMS_MAX);
            let lines = text.matches('\n').count() + 1;
            for problem in &problems.list {
                prop_assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{}", problem);
                prop_assert!(!problem.what.is_empty() && !problem.remedy.is_empty(), "{}", problem);
                prop_assert!(problem.to_string().len() < 2_000, "{}", problem);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_refused_in_words(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn pieces_of_toml_do_not_panic(pieces in prop::collection::vec((0..PIECES.len(), "[a-z_]{0,6}[ =\n.]{0,2}"), 0..30)) {
        let text: String = pieces.iter().map(|(i, glue)| format!("{}{glue}", PIECES[*i])).collect();
        check(&text)?;
    }

    #[test]
    fn spoiled_files_do_not_panic(
        which in 0_usize..2,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, 0..PIECES.len()), 1..4),
    ) {
        let mut text = good()[which].clone();
        for (at, length, piece) in cuts {
            let mut start = at.index(text.len());
            let mut end = (start + length).min(text.len());
            while !text.is_char_boundary(start) { start -= 1; }
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, PIECES[piece]);
        }
        check(&text)?;
    }

    #[test]
    fn spoiled_values_are_judged(which in 0_usize..2, at in any::<prop::sample::Index>(), piece in 0..PIECES.len()) {
        let text = &good()[which];
        let values: Vec<usize> = text.match_indices("= ").map(|(i, _)| i + 2).collect();
        let start = values[at.index(values.len())];
        let end = start + text[start..].find(['\n', ',', '}']).unwrap_or(0);
        check(&format!("{}{}{}", &text[..start], PIECES[piece], &text[end..]))?;
    }
}

#[test]
fn depth_and_length_are_survived() {
    for text in [
        format!("name = {}", "[".repeat(100_000)),
        format!("name = {}{}", "{ a = ".repeat(100_000), "}".repeat(100_000)),
        format!("{} = 1", "a.".repeat(100_000) + "a"),
        format!("{} = 1", "a".repeat(1_000_000)),
        format!("name = \"{}\"", "x".repeat(1_000_000)),
        "[a]\n".repeat(10_000),
        "[[bodies]]\nname = \"x\"\n".repeat(50_000),
        "[[bodies]]\nrepeat = { count = [200000, 200000, 200000], spacing = [1, 1, 1] }\n".repeat(5_000),
        format!("bodies = [{}]", (0..50_000).map(|i| format!("{{ name = \"x{i}\" }},")).collect::<String>()),
        "[[joints]]\na = \"nobody\"\nb = \"none\"\nkind = \"fixed\"\n".repeat(20_000),
    ] {
        let problems = world_file::parse(&text, "hostile.toml").unwrap_err();
        assert!(problems.to_string().len() < 100_000);
    }
}
