//! Who gives way to whom, also while that changes.
//!
//! Two servers that swap ranks must not both give way at once: what one gave just before the change and what the other
//! gives just after it would fly past each other. So the former order goes on for one leg after the tick of the change,
//! looking one leg further ahead; then, for one leg, nothing goes either way between servers whose order is reversed,
//! while what is under way arrives; then the new order begins. Nobody goes home in the meantime.

use nimbus_model::{RegionId, Vec3};
use nimbus_space::PartitionMap;

use crate::node::Node;

impl Node {
    /// True when the first of two regions has the lower rank by the order in force: bodies go to it.
    pub(crate) fn outranks(&self, one: RegionId, two: RegionId) -> bool {
        is_lower(self.ordering(), one, two)
    }

    /// True when the first of two regions has the lower rank by any order that was in force a moment ago, is, or is
    /// announced.
    pub(crate) fn outranks_in_any(&self, one: RegionId, two: RegionId) -> bool {
        let mut maps = self.next_maps().chain(&self.former).chain([&self.map]);
        maps.any(|map| is_lower(map, one, two))
    }

    /// By how many ticks more than usual a pull looks ahead, because some may have to wait soon.
    pub(crate) fn caution(&self) -> u64 {
        let legs = self.horizon.legs;
        if self.ranks_change() && self.now < self.map.effective() + self.horizon.promised { legs } else { 0 }
    }

    /// True while nothing may be given to a region, because it gave way until now and will not any more.
    pub(crate) fn is_held_back(&self, to: RegionId) -> bool {
        let here = self.config.region;
        let reversed = |former: &PartitionMap| is_lower(former, to, here) != is_lower(&self.map, to, here);
        self.caution() == 0 && self.ranks_change() && self.former.as_ref().is_some_and(reversed)
    }

    /// True from the tick of a change of ranks until the new order is in force.
    pub(crate) fn ranks_change(&self) -> bool {
        self.now < self.new_order_from()
            && self.former.as_ref().is_some_and(|former| former.order() != self.map.order())
    }

    /// True when another order was in force a moment ago, or is announced.
    pub(crate) fn order_changes(&self) -> bool {
        let order = self.map.order();
        self.next_maps().chain(&self.former).any(|map| map.order() != order)
    }

    /// Puts another partition into force. The order that pulls go by stays the former one for now.
    pub(crate) fn change_map(&mut self, map: &PartitionMap) {
        let replaced = std::mem::replace(&mut self.map, map.clone());
        self.former.get_or_insert(replaced);
    }

    /// Forgets the former partition when all that it led to has arrived.
    pub(crate) fn forget_former(&mut self) {
        if self.now >= self.new_order_from() + self.horizon.legs {
            self.former = None;
        }
    }

    /// Distance to the nearest boundary of this region, by the partition in force or the one just before it.
    pub(crate) fn distance_to_edge(&self, position: Vec3) -> f32 {
        let region = self.config.region;
        let distances = [&self.map].into_iter().chain(&self.former).map(|m| m.distance_to_boundary(region, position));
        distances.fold(f32::INFINITY, f32::min)
    }

    fn ordering(&self) -> &PartitionMap {
        let former = self.former.as_ref().filter(|_| self.now < self.new_order_from());
        former.unwrap_or(&self.map)
    }

    fn new_order_from(&self) -> nimbus_model::Tick {
        self.map.effective() + 2 * self.horizon.promised
    }
}

fn is_lower(map: &PartitionMap, one: RegionId, two: RegionId) -> bool {
    map.rank(one) < map.rank(two)
}
