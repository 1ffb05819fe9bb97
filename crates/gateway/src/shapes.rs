//! Numbers for shapes, so that ten thousand equal balls name one shape.

use nimbus_model::Shape;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Message;

/// Shapes that no body has any more are kept up to this many, because rain comes again.
const IDLE_MAX: usize = 1024;

#[derive(Debug)]
struct Entry {
    text: Arc<str>,
    bodies: u32,
}

/// Shapes that clients have been told of. Shapes are compared as the text that clients get: equal text, equal shape.
/// Numbers are never used again while a world is loaded.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    numbers: BTreeMap<Arc<str>, u32>,
    entries: BTreeMap<u32, Entry>,
    idle: usize,
    next: u32,
}

impl Shapes {
    /// The number of a body's shape, and the message that announces it if clients do not know it yet.
    pub(crate) fn take(&mut self, shape: &Shape) -> (u32, Option<Message>) {
        let text = serde_json::to_string(shape).expect("a shape is plain data");
        if let Some(&number) = self.numbers.get(text.as_str())
            && let Some(entry) = self.entries.get_mut(&number)
        {
            self.idle -= usize::from(entry.bodies == 0);
            entry.bodies += 1;
            return (number, None);
        }
        let number = self.next;
        self.next += 1;
        let text: Arc<str> = text.into();
        let message = announcement(number, &text);
        self.numbers.insert(Arc::clone(&text), number);
        self.entries.insert(number, Entry { text, bodies: 1 });
        (number, Some(message))
    }

    /// A body with the shape is gone.
    pub(crate) fn release(&mut self, number: u32) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.bodies = entry.bodies.saturating_sub(1);
        self.idle += usize::from(entry.bodies == 0);
        if self.idle > IDLE_MAX {
            self.entries.retain(|_, entry| entry.bodies > 0);
            self.numbers.retain(|_, number| self.entries.contains_key(number));
            self.idle = 0;
        }
    }

    /// Announcements of all shapes, for a client that knows none.
    pub(crate) fn all(&self) -> impl Iterator<Item = Message> {
        self.entries.iter().map(|(number, entry)| announcement(*number, &entry.text))
    }

    pub(crate) fn clear(&mut self) {
        *self = Shapes::default();
    }
}

/// The `shape` message around a text that is made already.
fn announcement(number: u32, text: &str) -> Message {
    Message::Text(format!(r#"{{"type":"shape","id":{number},"shape":{text}}}"#).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_wire::client::ToClient;

    #[test]
    fn equal_shapes_share_a_number_and_are_announced_once() {
        let mut shapes = Shapes::default();
        let (ball, news) = shapes.take(&Shape::ball(0.5));
        let announced = Message::from(ToClient::Shape { id: ball, shape: Shape::ball(0.5) });
        assert_eq!(news, Some(announced), "written by hand and by serde alike");
        assert_eq!(shapes.take(&Shape::ball(0.5)), (ball, None));
        let (other, news) = shapes.take(&Shape::ball(0.25));
        assert!(other != ball && news.is_some());
    }

    #[test]
    fn shapes_that_nobody_has_do_not_pile_up() {
        let mut shapes = Shapes::default();
        let (kept, _) = shapes.take(&Shape::ball(1.0));
        for i in 0..5 * IDLE_MAX {
            let (number, news) = shapes.take(&Shape::ball(2.0 + i as f32));
            assert!(news.is_some() && number != kept);
            shapes.release(number);
            assert!(shapes.entries.len() <= IDLE_MAX + 2);
            assert_eq!(shapes.entries.len(), shapes.numbers.len());
        }
        assert_eq!(shapes.take(&Shape::ball(1.0)), (kept, None));
        shapes.release(kept);
        assert_eq!(shapes.take(&Shape::ball(1.0)), (kept, None), "an idle shape keeps its number for a while");
    }
}
