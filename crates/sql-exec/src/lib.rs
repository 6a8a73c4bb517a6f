//! Runs plans.
