use super::*;
use crate::client::{Parsed, ToClient};
use nimbus_model::Origin;
use proptest::prelude::*;

fn parsed(queries: &str, more: &str) -> Result<(Vec<Query>, QueryFilter), String> {
    let text = format!(r#"{{"type":"query","seq":5,"queries":{queries}{more}}}"#);
    match FromClient::parse(&text) {
        Ok(Parsed { seq: Some(5), command: FromClient::Query { queries, filter, authority: Authority::Gateway } }) => {
            Ok((queries, filter))
        }
        Ok(other) => panic!("{other:?}"),
        Err(reject) => Err(reject.reason),
    }
}

#[test]
fn the_questions_of_the_protocol_page_are_understood() {
    let queries = r#"[{"ray":{"origin":[0,10,0],"direction":[0,-2,0],"max":50}},
        {"cast":{"shape":{"ball":{"radius":0.5}},"position":[0,10,0],"direction":[0,-1,0],"max":50}},
        {"overlap":{"shape":{"cuboid":{"half":[1,1,1]}},"position":[0,0,0],"rotation":[0,0,0,1]}},
        {"nearest":{"position":[3,4,5],"max":0}}]"#;
    let (ball, from) = (Shape::ball(0.5), Vec3::new(0.0, 10.0, 0.0));
    let expected = [
        Query::Ray { origin: from, direction: Vec3::NEG_Y * 2.0, max: 50.0 },
        Query::Cast { shape: ball, pose: Pose::at(from), direction: Vec3::NEG_Y, max: 50.0 },
        Query::Overlap { shape: Shape::cuboid(1.0, 1.0, 1.0), pose: Pose::IDENTITY },
        Query::Nearest { position: Vec3::new(3.0, 4.0, 5.0), max: 0.0 },
    ];
    assert_eq!(parsed(queries, "").unwrap(), (expected.to_vec(), QueryFilter::default()));
    let more = r#","filter":{"statics":false,"sensors":true,"groups":{"memberships":2},"except":"0.4"}"#;
    let groups = Groups { memberships: 2, ..Groups::default() };
    let except = Some(Nid::new(Origin(0), 4));
    let filter = QueryFilter { statics: false, sensors: true, groups, except, ..QueryFilter::default() };
    assert_eq!(parsed(queries, more).unwrap().1, filter);
}

#[test]
fn reasons_name_what_is_wrong() {
    let ray = |origin: &str, direction: &str, max: &str| {
        format!(r#"[{{"ray":{{"origin":{origin},"direction":{direction},"max":{max}}}}}]"#)
    };
    let overlap = |shape: &str| format!(r#"[{{"overlap":{{"shape":{shape},"position":[0,0,0]}}}}]"#);
    let good = ray("[0,0,0]", "[1,0,0]", "5");
    assert!(parsed(&good, "").is_ok());
    let many = format!("[{}]", vec![good.trim_matches(['[', ']'].as_slice()); QUERIES_MAX + 1].join(","));
    let points = vec!["[0,1,2]"; QUERY_ELEMENTS_MAX + 1].join(",");
    let surface = r#"{"tri-mesh":{"vertices":[[0,0,0],[1,0,0],[0,1,0]],"triangles":[[0,1,2]]}}"#;
    for (queries, more, part) in [
        (ray("[0,null,0]", "[1,0,0]", "5").as_str(), "", "`queries[0]`: `origin[1]` is null"),
        (&ray("[0,0,0]", "[0,0,0]", "5"), "", "`direction` has no length"),
        (&ray("[0,0,0]", "[1e-40,0,0]", "5"), "", "`direction` has no length"),
        (&ray("[0,0,0]", "[1,0]", "5"), "", "has 2 numbers"),
        (&ray("[0,0,0]", "[1,0,0]", "null"), "", "`max` is null"),
        (&ray("[0,0,0]", "[1,0,0]", "1e30"), "", "`max` is 1e30"),
        (&ray("[0,0,0]", "[1,0,0]", "20001"), "", "from 0 to 20000"),
        (&ray("[0,0,0]", "[1,0,0]", "-1"), "", "from 0 to 20000"),
        (&ray("[1e20,0,0]", "[1,0,0]", "5"), "", "`origin[0]` is 1e20"),
        ("[]", "", "has 0 questions"),
        ("7", "", "`queries` is missing"),
        (&many, "", "257 questions; it must have 1 to 256"),
        (r#"["ray"]"#, "", "not a string"),
        (r#"[{"ray":4}]"#, "", "`ray` is a number"),
        (r#"[{"ray":{},"cast":{}}]"#, "", "one name"),
        (r#"[{"beam":{}}]"#, "", "there is no question `beam`; there are ray, cast"),
        (&overlap(r#"{"ball":{"radius":101}}"#), "", "radius of 101 m"),
        (&overlap(r#"{"ball":{"radius":0}}"#), "", "radius is 0"),
        (&overlap(&format!(r#"{{"convex-hull":{{"points":[{points}]}}}}"#)), "", "65 points"),
        (&overlap(surface), "", "no inside"),
        (&good, r#","filter":4"#, "`filter` is a number"),
        (&good, r#","filter":{"static":true}"#, "`filter` has no `static`"),
        (&good, r#","filter":{"statics":1}"#, "true or false"),
        (&good, r#","filter":{"groups":{"mask":1}}"#, "`groups`: unknown field `mask`"),
        (&good, r#","filter":{"except":4}"#, "such as \"0.42\""),
    ] {
        let reason = parsed(queries, more).unwrap_err();
        assert!(reason.contains(part), "{queries}{more}: {reason}");
    }
}

#[test]
fn answers_are_those_of_the_protocol_page() {
    let nid = Nid::new(Origin(7), 42);
    let hit = Hit { nid, distance: 4.5, point: Vec3::Y, normal: Vec3::NEG_X };
    let near = NearestBody { nid, distance: 0.5, point: Vec3::Z };
    let answers = vec![
        QueryAnswer::Ray(Some(hit)),
        QueryAnswer::Cast(None),
        QueryAnswer::Overlap(Overlapping { bodies: vec![nid], total: 3 }),
        QueryAnswer::Nearest(Some(near)),
    ];
    let message = ToClient::Hits(Hits { seq: Some(5), tick: Tick(1232), age: 2, answers, missing: None });
    let text = concat!(
        r#"{"type":"hits","seq":5,"tick":1232,"age":2,"answers":["#,
        r#"{"ray":{"nid":"7.42","distance":4.5,"point":[0.0,1.0,0.0],"normal":[-1.0,0.0,0.0]}},{"cast":null},"#,
        r#"{"overlap":{"bodies":["7.42"],"total":3}},"#,
        r#"{"nearest":{"nid":"7.42","distance":0.5,"point":[0.0,0.0,1.0]}}]}"#,
    );
    assert_eq!(message.to_text(), text);
    assert_eq!(ToClient::parse(text), Ok(Some(message)));
    for (missing, listed) in [(vec![], "[]"), (vec![RegionId(2)], "[2]")] {
        let hits = Hits { seq: None, tick: Tick(9), age: 3, answers: vec![], missing: Some(missing) };
        let text = format!(r#"{{"type":"hits","seq":null,"tick":9,"age":3,"answers":[],"missing":{listed}}}"#);
        assert_eq!(ToClient::Hits(hits.clone()).to_text(), text);
        assert_eq!(ToClient::parse(&text), Ok(Some(ToClient::Hits(hits))));
    }
}

#[test]
fn whose_word_the_answers_are_is_understood() {
    let authority = |more: &str| {
        let text = format!(r#"{{"type":"query","queries":[{{"nearest":{{"position":[0,0,0],"max":1}}}}]{more}}}"#);
        match FromClient::parse(&text).map(|parsed| parsed.command) {
            Ok(FromClient::Query { authority, .. }) => Ok(authority),
            Ok(other) => panic!("{other:?}"),
            Err(reject) => Err(reject.reason),
        }
    };
    assert_eq!(authority(""), Ok(Authority::Gateway));
    assert_eq!(authority(r#","authoritative":false"#), Ok(Authority::Gateway));
    assert_eq!(authority(r#","authoritative":true"#), Ok(Authority::Servers { at: None }));
    assert_eq!(authority(r#","authoritative":true,"at":1250"#), Ok(Authority::Servers { at: Some(Tick(1250)) }));
    for (more, part) in [
        (r#","authoritative":1"#, "true or false"),
        (r#","at":1250"#, "say `authoritative`"),
        (r#","authoritative":true,"at":-3"#, "whole number"),
    ] {
        let reason = authority(more).unwrap_err();
        assert!(reason.contains(part), "{more}: {reason}");
    }
}

fn any_query() -> impl Strategy<Value = Query> {
    let vector = || (-1e4f32..1e4, -1e4f32..1e4, 1.0f32..1e4).prop_map(|(x, y, z)| Vec3::new(x, y, z));
    let shape = || {
        let capsule = (0.01f32..9.0, 0.01f32..9.0);
        prop_oneof![
            (0.01f32..100.0).prop_map(Shape::ball),
            capsule.prop_map(|(half_height, radius)| Shape::Capsule { half_height, radius }),
        ]
    };
    let cast = (shape(), vector(), vector(), 0.0..QUERY_REACH_MAX);
    prop_oneof![
        (vector(), vector(), 0.0..QUERY_REACH_MAX).prop_map(|(origin, direction, max)| Query::Ray {
            origin,
            direction,
            max
        }),
        cast.prop_map(|(shape, at, direction, max)| Query::Cast { shape, pose: Pose::at(at), direction, max }),
        (shape(), vector()).prop_map(|(shape, at)| Query::Overlap { shape, pose: Pose::at(at) }),
        (vector(), 0.0..QUERY_REACH_MAX).prop_map(|(position, max)| Query::Nearest { position, max }),
    ]
}

proptest! {
    #[test]
    fn questions_survive_the_wire(
        queries in prop::collection::vec(any_query(), 1..20),
        flags in any::<[bool; 3]>(),
        groups in any::<(u32, u32)>(),
        except in any::<Option<u64>>(),
        authority in prop_oneof![
            Just(Authority::Gateway),
            any::<Option<u64>>().prop_map(|at| Authority::Servers { at: at.map(Tick) }),
        ],
    ) {
        let [statics, bodies, sensors] = flags;
        let groups = Groups { memberships: groups.0, filter: groups.1 };
        let filter = QueryFilter { statics, bodies, sensors, groups, except: except.map(Nid) };
        let command = FromClient::Query { queries, filter, authority };
        prop_assert_eq!(FromClient::parse(&command.to_text(Some(3))), Ok(Parsed { seq: Some(3), command }));
    }

    #[test]
    fn damaged_questions_never_panic(query in any_query(), at in any::<prop::sample::Index>(), byte in 32u8..127) {
        let (filter, authority) = (QueryFilter::default(), Authority::Gateway);
        let command = FromClient::Query { queries: vec![query], filter, authority };
        let mut text = command.to_text(Some(1)).into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        let _ = FromClient::parse(&String::from_utf8_lossy(&text));
    }
}
