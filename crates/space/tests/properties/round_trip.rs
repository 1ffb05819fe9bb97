//! A map that is sent arrives whole, derived tables included; a broken one does not arrive.

use nimbus_model::coding;
use nimbus_space::PartitionMap;
use proptest::prelude::*;

use crate::layouts::any_map;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_map_survives_json_and_binary(map in any_map()) {
        let text = serde_json::to_string(&map).unwrap();
        prop_assert_eq!(&serde_json::from_str::<PartitionMap>(&text).unwrap(), &map);
        let bytes = coding::write(&map);
        prop_assert_eq!(&coding::read::<PartitionMap>(&bytes).unwrap(), &map);
    }

    #[test]
    fn damaged_bytes_give_a_valid_map_or_an_error(
        map in any_map(),
        place in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        let mut bytes = coding::write(&map);
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        if let Ok(read) = coding::read::<PartitionMap>(&bytes) {
            prop_assert!(read.validate().is_ok());
            prop_assert!(read.regions().contains(&read.region_at(nimbus_model::Vec3::ZERO)));
        }
    }
}

#[test]
fn a_malformed_map_says_what_is_wrong() {
    let read = |tree: &str| {
        let text = format!(r#"{{"epoch":1,"effective":0,"tree":{tree}}}"#);
        serde_json::from_str::<PartitionMap>(&text).map_err(|error| error.to_string())
    };
    assert!(read(r#"[{"leaf":{"region":3}}]"#).is_ok());
    let open = read(r#"[{"cut":{"axis":0,"at":1.0}},{"leaf":{"region":3}}]"#).unwrap_err();
    assert!(open.contains("ends early"), "{open}");
    let axis = read(r#"[{"cut":{"axis":9,"at":1.0}},{"leaf":{"region":3}},{"leaf":{"region":4}}]"#).unwrap_err();
    assert!(axis.contains("axis 9"), "{axis}");
    assert!(read("[]").is_err());
}
