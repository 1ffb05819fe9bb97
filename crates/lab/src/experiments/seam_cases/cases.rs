//! The cases: worlds as files, how long each runs, and what it is held to.

/// What a case is held to beyond its contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bar {
    /// First contacts come in time, or a breach says before that they may not.
    Contacts,
    /// The same, and bodies that were hit by one other, or by none, move on as on one server.
    Exact,
    /// The same as for contacts; ten seconds after everything came to rest it sleeps, and nothing changes owner any more.
    Rest,
}

/// A world that is run many times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    pub(super) ticks: u64,
    pub(super) bar: Bar,
}

impl Case {
    /// Clusters of more bodies stay where they are in this case.
    pub(super) fn cluster_max(&self) -> Option<usize> {
        (self.name == "pile-above-the-limit").then_some(20)
    }

    /// Whether regions are hardly wider than the tolerances demand, whatever the file says.
    pub(super) fn narrow(&self) -> bool {
        ["narrow-columns", "grid-of-25"].contains(&self.name)
    }

    /// The command that shows a run again.
    pub(super) fn command_line(&self, seed: u64) -> String {
        let Case { name, ticks, .. } = self;
        let narrow = if self.narrow() { " --narrow" } else { "" };
        let limit = self.cluster_max().map_or(String::new(), |most| format!(" --cluster-max {most}"));
        let world = format!("crates/lab/data/seams/{name}.toml");
        format!("nimbus universe --world {world} --vary --ticks {ticks}{narrow}{limit} --against-one --seed {seed}")
    }
}

macro_rules! case {
    ($name:literal, $ticks:literal, $bar:expr) => {
        Case {
            name: $name,
            text: include_str!(concat!("../../../data/seams/", $name, ".toml")),
            ticks: $ticks,
            bar: $bar,
        }
    };
}

/// Every case.
pub(super) const CASES: [Case; 41] = [
    case!("birth-beside-guests", 240, Bar::Contacts),
    case!("birth-beside-travellers", 150, Bar::Contacts),
    case!("bounce-and-handover", 120, Bar::Exact),
    case!("break", 120, Bar::Contacts),
    case!("bridge", 240, Bar::Contacts),
    case!("bullets-and-plates", 120, Bar::Contacts),
    case!("bullets-meet-plates", 120, Bar::Contacts),
    case!("chain-jerk", 120, Bar::Contacts),
    case!("compounds-at-rest", 200, Bar::Exact),
    case!("corner-of-three", 120, Bar::Contacts),
    case!("corners-of-16", 120, Bar::Contacts),
    case!("crossing-streams", 200, Bar::Contacts),
    case!("dominoes", 300, Bar::Contacts),
    case!("grid-of-16", 150, Bar::Contacts),
    case!("grid-of-25", 150, Bar::Contacts),
    case!("hammers", 120, Bar::Contacts),
    case!("handover-in-an-impact", 120, Bar::Exact),
    case!("head-on", 120, Bar::Contacts),
    case!("heap-of-boxes", 1200, Bar::Rest),
    case!("heap-on-a-corner", 1200, Bar::Rest),
    case!("hundred-and-twenty-hertz", 200, Bar::Contacts),
    case!("hundred-to-one", 120, Bar::Contacts),
    case!("kinematic-bat", 120, Bar::Contacts),
    case!("laid-tables", 150, Bar::Contacts),
    case!("lift", 120, Bar::Contacts),
    case!("moving-platforms", 150, Bar::Contacts),
    case!("narrow-columns", 120, Bar::Contacts),
    case!("pile-above-the-limit", 120, Bar::Contacts),
    case!("rod-at-the-start", 120, Bar::Contacts),
    case!("rod-beside-a-ball", 120, Bar::Contacts),
    case!("rope-jerk", 90, Bar::Contacts),
    case!("row-of-balls", 120, Bar::Contacts),
    case!("scripted-push", 130, Bar::Contacts),
    case!("scripted-spin", 120, Bar::Contacts),
    case!("springs", 120, Bar::Contacts),
    case!("stacks-at-rest", 900, Bar::Rest),
    case!("stream-on-a-wall", 300, Bar::Contacts),
    case!("thirty-hertz", 120, Bar::Contacts),
    case!("tumbling-rods", 120, Bar::Contacts),
    case!("turnstile", 200, Bar::Contacts),
    case!("wrecking-ball", 200, Bar::Contacts),
];

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::world_file;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_is_a_case_and_a_good_world() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/seams");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".toml", ""))
            .collect();
        assert_eq!(files, CASES.iter().map(|case| case.name.to_owned()).collect());
        for case in &CASES {
            let world = world_file::parse(case.text, case.name).unwrap();
            assert_eq!(world.name, case.name);
        }
    }
}
