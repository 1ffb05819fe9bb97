//! The bytes of a command to a game, as JSON has them: a list of whole numbers from 0 to 255.

use nimbus_model::GAME_COMMAND_BYTES_MAX;
use serde_json::Value;

use super::fields::{Fields, kind_of};

pub(super) fn payload(fields: &Fields) -> Result<Vec<u8>, String> {
    let data = match fields.get("data") {
        Some(Value::Array(data)) => data,
        Some(other) => return Err(format!("`data` is {}; it must be an array of bytes", kind_of(other))),
        None => return Err("`data` is missing: the bytes for the game, as an array of numbers".to_owned()),
    };
    if data.len() > GAME_COMMAND_BYTES_MAX {
        return Err(format!("`data` has {} bytes; a game is told at most {GAME_COMMAND_BYTES_MAX}", data.len()));
    }
    let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
    data.iter().map(|value| byte(value).ok_or("`data` must hold whole numbers from 0 to 255".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use crate::client::FromClient;
    use nimbus_model::{GAME_COMMAND_BYTES_MAX, Nid};

    #[test]
    fn bytes_for_a_game_are_read_as_they_are_written() {
        let command = FromClient::Game { nid: Nid(42), payload: vec![0, 7, 255] };
        let text = command.to_text(Some(4));
        assert_eq!(text, r#"{"type":"game","nid":"0.42","data":[0,7,255],"seq":4}"#);
        assert_eq!(FromClient::parse(&text).map(|parsed| (parsed.seq, parsed.command)), Ok((Some(4), command)));
    }

    #[test]
    fn what_is_no_list_of_bytes_is_refused() {
        let reason = |data: &str| {
            let text = format!(r#"{{"type":"game","nid":"0.42"{data}}}"#);
            FromClient::parse(&text).unwrap_err().reason
        };
        assert!(reason("").contains("missing"));
        assert!(reason(r#","data":"hello""#).contains("an array"));
        for bad in ["-1", "256", "1.5", "null"] {
            assert!(reason(&format!(r#","data":[1,{bad}]"#)).contains("from 0 to 255"), "{bad}");
        }
        let long = vec!["1"; GAME_COMMAND_BYTES_MAX + 1].join(",");
        assert!(reason(&format!(r#","data":[{long}]"#)).contains("at most"));
    }
}
