//! Where in a world file each body and joint of its world is described.

/// An entry that describes a body or copies of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Index of the first in the world.
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) line: usize,
    pub(super) name: Option<String>,
}

/// Lines of a file, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    pub(super) tolerances: Option<usize>,
    pub(super) injections: Option<usize>,
    pub(super) bodies: Vec<Entry>,
    pub(super) joints: Vec<usize>,
}

impl Lines {
    /// The line of the tolerances, or that of the top where the file has none.
    pub fn tolerances(&self) -> usize {
        self.tolerances.unwrap_or(1)
    }

    /// The line of the first injection, or that of the top where the file has none.
    pub fn injections(&self) -> usize {
        self.injections.unwrap_or(1)
    }

    /// The line that describes a body, and what the file calls it: by its name, or by its place in the list. Copies of a
    /// repeated body are numbered, the first one too.
    pub fn body(&self, index: u32) -> (usize, String) {
        let at = self.bodies.partition_point(|entry| entry.first <= index).saturating_sub(1);
        let Some(entry) = self.bodies.get(at) else { return (1, format!("body {index}")) };
        let copy = (entry.count > 1).then(|| index.saturating_sub(entry.first));
        let what = match (&entry.name, copy) {
            (Some(name), Some(copy)) => format!("\"{name}[{copy}]\""),
            (Some(name), None) => format!("\"{name}\""),
            (None, Some(copy)) => format!("bodies[{at}], copy {copy}"),
            (None, None) => format!("bodies[{at}]"),
        };
        (entry.line, what)
    }

    /// The line that describes a joint.
    pub fn joint(&self, index: u32) -> usize {
        self.joints.get(index as usize).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use crate::world_file::parse_with_lines;

    #[test]
    fn every_copy_has_its_number_wherever_its_entry_stands() {
        let ball = "shape = { ball = { radius = 0.1 } }\n";
        let copies = "repeat = { count = [2, 1, 1], spacing = [1, 0, 0] }\n";
        let text = format!(
            "name = \"w\"\n[[bodies]]\nname = \"a\"\n{ball}{copies}[[bodies]]\n{ball}[[bodies]]\n{ball}{copies}\
             [[bodies]]\nname = \"b\"\n{ball}[[bodies]]\nname = \"c\"\n{ball}{copies}"
        );
        let (world, lines) = parse_with_lines(&text, "w.toml").unwrap();
        let named: Vec<(usize, String)> = (0..world.bodies.len() as u32).map(|index| lines.body(index)).collect();
        let expected = [
            (2, "\"a[0]\""),
            (2, "\"a[1]\""),
            (6, "bodies[1]"),
            (8, "bodies[2], copy 0"),
            (8, "bodies[2], copy 1"),
            (11, "\"b\""),
            (14, "\"c[0]\""),
            (14, "\"c[1]\""),
        ];
        assert_eq!(named, expected.map(|(line, name)| (line, name.to_owned())));
    }
}
