//! Clients that want to hear which bodies begin and cease to touch, and what waits for them.

use nimbus_model::{ClientId, Nid};
use nimbus_wire::client::{ToClient, TouchNews, TouchesOf};
use nimbus_wire::{Touches, WantedTouches};
use std::collections::BTreeMap;

use crate::Message;

/// Touches per message.
const PER_MESSAGE: usize = 1_024;

/// Who listens, and what regions have told since the last tick.
#[derive(Debug, Default)]
pub(crate) struct Touching {
    listeners: BTreeMap<ClientId, TouchesOf>,
    heard: Vec<TouchNews>,
    left_out: u64,
}

impl Touching {
    /// A client says whose touches it wants to hear of from now on.
    pub(crate) fn listen(&mut self, client: ClientId, of: TouchesOf) {
        if of == TouchesOf::NONE {
            self.listeners.remove(&client);
        } else {
            self.listeners.insert(client, of);
        }
    }

    /// A client is gone.
    pub(crate) fn forget(&mut self, client: ClientId) {
        self.listeners.remove(&client);
    }

    /// What regions have to tell for all clients that listen.
    pub(crate) fn wanted(&self) -> WantedTouches {
        let named = |of: &TouchesOf| match of {
            TouchesOf::Bodies(nids) => Some(nids.clone()),
            TouchesOf::Everything => None,
        };
        let all: Option<Vec<Vec<Nid>>> = self.listeners.values().map(named).collect();
        all.map_or(WantedTouches::All, |nids| WantedTouches::of(nids.into_iter().flatten()))
    }

    /// A region tells.
    pub(crate) fn hear(&mut self, told: Touches) {
        if !self.listeners.is_empty() {
            self.heard.extend(told.touches.into_iter().map(TouchNews::from));
            self.left_out += told.left_out;
        }
    }

    /// Another world was loaded.
    pub(crate) fn clear(&mut self) {
        (self.heard, self.left_out) = (Vec::new(), 0);
    }

    /// Tells everybody what concerns them. That some were left out concerns all.
    pub(crate) fn tell(&mut self, out: &mut Vec<(ClientId, Message)>) {
        let (heard, left_out) = (std::mem::take(&mut self.heard), std::mem::take(&mut self.left_out));
        if heard.is_empty() && left_out == 0 {
            return;
        }
        let all = messages(&heard, left_out);
        for (client, of) in &self.listeners {
            if *of == TouchesOf::Everything {
                out.extend(all.iter().map(|message| (*client, message.clone())));
                continue;
            }
            let own: Vec<TouchNews> = heard.iter().filter(|touch| of.concern(touch.one, touch.two)).copied().collect();
            out.extend(messages(&own, left_out).into_iter().map(|message| (*client, message)));
        }
    }
}

fn messages(touches: &[TouchNews], left_out: u64) -> Vec<Message> {
    let message = |touches: &[TouchNews], left_out| ToClient::Touches { touches: touches.to_vec(), left_out }.into();
    let mut parts: Vec<Message> = touches.chunks(PER_MESSAGE).map(|part| message(part, 0)).collect();
    if left_out > 0 {
        parts.push(message(&[], left_out));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Tick;
    use nimbus_wire::Touch;

    fn touch(one: u64, two: u64) -> Touch {
        Touch { tick: Tick(7), one: Nid(one), two: Nid(two), began: true }
    }

    fn told(touching: &mut Touching) -> Vec<(u32, ToClient)> {
        let mut out = Vec::new();
        touching.tell(&mut out);
        let read = |message: Message| match message {
            Message::Text(text) => ToClient::parse(&text).unwrap().unwrap(),
            Message::Binary(_) => panic!("touches are text"),
        };
        out.into_iter().map(|(client, message)| (client.0, read(message))).collect()
    }

    #[test]
    fn everybody_hears_what_concerns_them() {
        let mut touching = Touching::default();
        touching.hear(Touches { touches: vec![touch(1, 2)], left_out: 1 });
        touching.listen(ClientId(1), TouchesOf::Everything);
        assert_eq!(touching.wanted(), WantedTouches::All);
        touching.listen(ClientId(2), TouchesOf::bodies([Nid(3)]));
        touching.listen(ClientId(3), TouchesOf::bodies([Nid(9)]));
        touching.hear(Touches { touches: vec![touch(1, 2), touch(2, 3)], left_out: 0 });
        let both = ToClient::Touches { touches: vec![touch(1, 2).into(), touch(2, 3).into()], left_out: 0 };
        let one = ToClient::Touches { touches: vec![touch(2, 3).into()], left_out: 0 };
        assert_eq!(told(&mut touching), [(1, both), (2, one)], "and nothing of what came before anybody listened");
        assert!(told(&mut touching).is_empty());
        touching.hear(Touches { touches: vec![], left_out: 5 });
        touching.listen(ClientId(1), TouchesOf::NONE);
        assert_eq!(touching.wanted(), WantedTouches::Of(vec![Nid(3), Nid(9)]));
        let fewer = ToClient::Touches { touches: vec![], left_out: 5 };
        assert_eq!(told(&mut touching), [(2, fewer.clone()), (3, fewer)]);
        touching.forget(ClientId(2));
        touching.forget(ClientId(3));
        assert_eq!(touching.wanted(), WantedTouches::None);
    }

    #[test]
    fn many_touches_come_in_parts_and_whole() {
        let mut touching = Touching::default();
        touching.listen(ClientId(1), TouchesOf::Everything);
        touching.hear(Touches { touches: (1..=2_500).map(|i| touch(i, i + 1)).collect(), left_out: 0 });
        let count = |message: &ToClient| match message {
            ToClient::Touches { touches, .. } => touches.len(),
            _ => 0,
        };
        let told = told(&mut touching);
        assert_eq!(told.iter().map(|(_, message)| count(message)).collect::<Vec<_>>(), [1_024, 1_024, 452]);
    }
}
