//! Commands and questions, one method each.

use nimbus_client::{
    Answered, AskError, Authority, BodyCard, FromClient, Hit, Hits, NearestBody, Overlapping, Query, QueryAnswer,
    QueryFilter, Spawn, TouchesOf, Watch,
};
use nimbus_model::{JointDesc, Nid, Pose, Shape, Vec3};

use crate::connection::Connection;

impl Connection {
    /// Makes a body and returns its id once a server has it. Its [`Event::Born`](nimbus_client::Event::Born) may come before or
    /// after.
    pub async fn spawn(&self, spawn: Spawn) -> Result<Nid, AskError> {
        match self.command(FromClient::Spawn(spawn)).await? {
            Answered::Done(Some(nid)) => Ok(nid),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes a body.
    pub async fn despawn(&self, nid: Nid) -> Result<(), AskError> {
        self.done(FromClient::Despawn { nid }).await
    }

    /// Pushes a body, N s.
    pub async fn impulse(&self, nid: Nid, impulse: Vec3) -> Result<(), AskError> {
        self.done(FromClient::Impulse { nid, impulse }).await
    }

    /// Holds two bodies together from now on; the anchors of the joint are in the order of the bodies.
    pub async fn join(&self, one: Nid, two: Nid, joint: JointDesc) -> Result<(), AskError> {
        self.done(FromClient::Join { one, two, joint }).await
    }

    /// Loads the present world again.
    pub async fn reset(&self) -> Result<(), AskError> {
        self.done(FromClient::Reset).await
    }

    /// Loads another world.
    pub async fn scene(&self, name: &str) -> Result<(), AskError> {
        self.done(FromClient::Scene { name: name.to_owned() }).await
    }

    /// Stops or resumes the timeline.
    pub async fn pause(&self, paused: bool) -> Result<(), AskError> {
        self.done(FromClient::Pause { paused }).await
    }

    /// Runs some ticks while paused.
    pub async fn step(&self, ticks: u32) -> Result<(), AskError> {
        self.done(FromClient::Step { ticks }).await
    }

    /// Sets the speed of the timeline.
    pub async fn speed(&self, factor: f32) -> Result<(), AskError> {
        self.done(FromClient::Speed { factor }).await
    }

    /// Sees what a view shows from now on, within a budget of bytes, and nothing else; also at every gateway that follows. To
    /// be said again whenever the eye moves. What goes out of sight is told with
    /// [`Event::OutOfSight`](nimbus_client::Event::OutOfSight).
    ///
    /// A view that is [refused](AskError::Refused) leaves the one before it, or everything. One that is said while there is no
    /// gateway fails as [lost](AskError::Lost), but the next gateway is asked for it all the same.
    pub async fn watch(&self, watch: Watch) -> Result<(), AskError> {
        self.done(FromClient::Watch(watch)).await
    }

    /// From now on is told of these touches as [`Event::Touched`](nimbus_client::Event::Touched); also by every gateway that it
    /// moves to. A touch that began before is told of when it ends. What is refused, or said while there is no gateway, is as with
    /// [`Connection::watch`].
    pub async fn touches(&self, of: TouchesOf) -> Result<(), AskError> {
        self.done(FromClient::Touches { of }).await
    }

    /// Everything that a gateway knows of a body.
    pub async fn inspect(&self, nid: Nid) -> Result<BodyCard, AskError> {
        match self.command(FromClient::Inspect { nid }).await? {
            Answered::Card(card) => Ok(card),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks several questions at once, of the bodies that the filter admits. All are answered for the same places; the
    /// answer says how old these are.
    pub async fn query(&self, queries: Vec<Query>, filter: QueryFilter) -> Result<Hits, AskError> {
        match self.command(FromClient::Query { queries, filter, authority: Authority::Gateway }).await? {
            Answered::Hits(hits) => Ok(hits),
            other => Err(unexpected(&other)),
        }
    }

    /// What a ray meets first within `max` metres.
    pub async fn ray(&self, origin: Vec3, direction: Vec3, max: f32) -> Result<Option<Hit>, AskError> {
        match self.one(Query::Ray { origin, direction, max }).await? {
            QueryAnswer::Ray(hit) => Ok(hit),
            _ => Err(mixed_up()),
        }
    }

    /// What a shape meets first that moves without turning, within `max` metres.
    pub async fn cast(&self, shape: Shape, pose: Pose, direction: Vec3, max: f32) -> Result<Option<Hit>, AskError> {
        match self.one(Query::Cast { shape, pose, direction, max }).await? {
            QueryAnswer::Cast(hit) => Ok(hit),
            _ => Err(mixed_up()),
        }
    }

    /// What a shape overlaps.
    pub async fn overlap(&self, shape: Shape, pose: Pose) -> Result<Overlapping, AskError> {
        match self.one(Query::Overlap { shape, pose }).await? {
            QueryAnswer::Overlap(overlapping) => Ok(overlapping),
            _ => Err(mixed_up()),
        }
    }

    /// The body nearest to a place, within `max` metres. Statics do not count; ask [`Connection::query`] if they should.
    pub async fn nearest(&self, position: Vec3, max: f32) -> Result<Option<NearestBody>, AskError> {
        let filter = QueryFilter { statics: false, ..QueryFilter::default() };
        let hits = self.query(vec![Query::Nearest { position, max }], filter).await?;
        match hits.answers.into_iter().next() {
            Some(QueryAnswer::Nearest(nearest)) => Ok(nearest),
            _ => Err(mixed_up()),
        }
    }

    async fn one(&self, query: Query) -> Result<QueryAnswer, AskError> {
        self.query(vec![query], QueryFilter::default()).await?.answers.into_iter().next().ok_or_else(mixed_up)
    }

    async fn done(&self, command: FromClient) -> Result<(), AskError> {
        match self.command(command).await? {
            Answered::Done(_) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(answer: &Answered) -> AskError {
    let what = match answer {
        Answered::Done(_) => "a word that it is done",
        Answered::Hits(_) => "what is where",
        Answered::Card(_) => "what is known of a body",
    };
    AskError::Refused(format!("the gateway answered with {what}, which was not the question"))
}

fn mixed_up() -> AskError {
    AskError::Refused("the gateway answered another question".to_owned())
}
