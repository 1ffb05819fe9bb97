//! What a gateway thread exchanges with whoever decides about the clock and the world, where that is not itself: the
//! coordinator of a cluster, through the gateway's process.

use nimbus_gateway::Request;
use nimbus_model::{ClientId, Nid, Placed, Tick, World};
use nimbus_space::PartitionMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Most wishes that wait to be passed on.
const WISHES_MAX: usize = 64;

/// What a client wants done that is not for its gateway to decide.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wish {
    pub(crate) client: ClientId,
    /// The client's own number for it.
    pub(crate) seq: Option<u64>,
    pub(crate) request: Request,
}

/// What was decided.
pub(crate) enum News {
    /// Another partition, from its own effective tick on.
    Map(PartitionMap),
    /// Another world, from a tick on.
    Load { at: Tick, era: u16, world: Arc<World>, map: PartitionMap },
    /// Other statics in the world of an era, from a tick on.
    Statics { at: Tick, era: u16, placed: Arc<Placed> },
    /// What became of a wish.
    Answer(Answer),
}

/// What became of a client's wish: the body it was about, if any, or why not.
pub(crate) struct Answer {
    pub(crate) client: ClientId,
    /// The client's own number for it.
    pub(crate) seq: Option<u64>,
    pub(crate) outcome: Result<Option<Nid>, String>,
}

/// The gateway thread's end.
pub(crate) struct Council {
    wishes: SyncSender<Wish>,
    news: Receiver<News>,
}

/// The other end.
pub(crate) struct CouncilDesk {
    pub(crate) wishes: Receiver<Wish>,
    /// Few things are decided in a second, and the thread looks at every tick, so nothing piles up here.
    pub(crate) news: Sender<News>,
}

impl Council {
    /// Both ends.
    pub(crate) fn open() -> (Council, CouncilDesk) {
        let ((wishes, wished), (told, news)) = (sync_channel(WISHES_MAX), channel());
        (Council { wishes, news }, CouncilDesk { wishes: wished, news: told })
    }

    /// Passes a wish on; the answer comes as news, unless there is one at once.
    pub(crate) fn wish(&self, wish: Wish) -> Result<(), String> {
        self.wishes.try_send(wish).map_err(|_| "too much is asked of the coordinator at once; try again".to_owned())
    }

    /// What has been decided since the last time.
    pub(crate) fn news(&self) -> impl Iterator<Item = News> {
        self.news.try_iter()
    }
}
