//! From where on the log is needed for one page.

use crate::pool::state::State;
use base::Lsn;

#[test]
fn a_change_during_a_flush_keeps_its_own_rec_lsn() {
    let state = State::default();
    assert!(state.mark_dirty(Lsn(100)));
    assert!(!state.mark_dirty(Lsn(150)));
    assert_eq!(state.oldest_rec_lsn(), Some(Lsn(100)));
    assert_eq!(state.start_flush(), Some((Lsn(100), false)));
    assert_eq!(state.start_flush(), None, "one flush at a time");
    assert!(!state.mark_dirty(Lsn(200)), "still counted as dirty");
    assert_eq!(state.oldest_rec_lsn(), Some(Lsn(100)));
    assert!(!state.end_flush());
    assert_eq!(state.oldest_rec_lsn(), Some(Lsn(200)));
    assert_eq!(state.start_flush(), Some((Lsn(200), false)));
    assert!(state.end_flush());
    assert_eq!(state.oldest_rec_lsn(), None);
}

#[test]
fn a_failed_flush_gives_the_older_rec_lsn_back() {
    let state = State::default();
    state.mark_dirty(Lsn(100));
    state.start_flush();
    state.mark_dirty(Lsn(200));
    state.cancel_flush();
    assert_eq!(state.oldest_rec_lsn(), Some(Lsn(100)));
    state.start_flush();
    state.cancel_flush();
    assert_eq!(state.oldest_rec_lsn(), Some(Lsn(100)));
    assert!(state.is_dirty());
}
