//! Stores a list of one number as the number itself, as it was when there could be only one.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(u64),
    Many(Vec<u64>),
}

pub fn serialize<S: Serializer>(numbers: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    match numbers {
        [one] => one.serialize(serializer),
        many => many.serialize(serializer),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

#[cfg(test)]
mod tests {
    use crate::log::Turn;

    #[test]
    fn a_turn_with_one_left_reply_keeps_its_old_form() {
        let turn = |reply: &str| {
            format!(r#"{{"base":null,"nodes":0,"slots":[],"versions":[],"envelope":0,"current":true{reply}}}"#)
        };
        for (reply, slots) in [("", vec![]), (r#","reply":3"#, vec![3]), (r#","reply":[3,4]"#, vec![3, 4])] {
            let read: Turn = serde_json::from_str(&turn(reply)).expect("a turn");
            assert_eq!(read.reply, slots);
            assert_eq!(serde_json::to_string(&read).expect("JSON"), turn(reply));
        }
    }
}
