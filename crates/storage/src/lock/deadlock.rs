//! Deadlock detection: following the edges "waits for", one per waiter.
//!
//! Every waiter has one edge, to the owner of the first lock in its way. When that owner leaves and another lock is still in the
//! way, the edge is pointed at that one and looked at again. So each circle of waits is a circle of edges sooner or later,
//! and who sets the last edge of a circle looks for it afterwards: a circle is never missed.
//!
//! No mutex stops the world during the walk. A circle is believed when two walks, one after the other, see the same edges with the
//! same numbers: then all of them stood at the moment between the walks (owner's invariant O4).

use std::sync::Arc;

use smallvec::SmallVec;

use super::owner::Owner;
use super::table::Owners;

/// Members of a circle with their edges as seen.
pub(super) type Circle = SmallVec<[Arc<Owner>; 4]>;

/// The circle that `start` is in, or that its edges lead into.
pub(super) fn find_circle(start: &Arc<Owner>, owners: &dyn Owners) -> Option<Circle> {
    loop {
        let (circle, edges) = walk(start, owners)?;
        let again: SmallVec<[(u32, u32); 8]> = circle.iter().map(|o| o.edge()).collect();
        if again == edges {
            return Some(circle);
        }
        // Something moved: what it was may have gone, or there may be another circle now.
    }
}

type Walk = (Circle, SmallVec<[(u32, u32); 8]>);

/// One walk along the edges; the circle at its end with the edges seen, or none when the walk ends at somebody who runs.
fn walk(start: &Arc<Owner>, owners: &dyn Owners) -> Option<Walk> {
    let mut path: SmallVec<[Arc<Owner>; 8]> = SmallVec::new();
    let mut edges: SmallVec<[(u32, u32); 8]> = SmallVec::new();
    let mut at = Arc::clone(start);
    loop {
        if let Some(first) = path.iter().position(|o| o.slot == at.slot) {
            return Some((path.drain(first..).collect(), edges.drain(first..).collect()));
        }
        let edge = at.edge();
        if edge.0 == 0 {
            return None;
        }
        edges.push(edge);
        path.push(at);
        at = owners.owner(edge.0 - 1)?;
    }
}

/// Position of the member that is rolled back: one that yields by its nature, else the one that has written least, of
/// equals the one in the highest slot, so that two walks of one circle choose the same.
pub(super) fn choose_victim(circle: &[Arc<Owner>]) -> usize {
    let cost = |o: &Arc<Owner>| (!o.yields(), o.weight(), std::cmp::Reverse(o.slot));
    let cheapest = circle.iter().enumerate().min_by_key(|(_, o)| cost(o));
    cheapest.map_or(0, |(at, _)| at)
}
