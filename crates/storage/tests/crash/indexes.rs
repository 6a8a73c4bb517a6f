//! A third index that comes and goes: it is built while transactions change the table, and counts once its definition is durable.

use base::Lsn;
use row_format::KeyPart;
use storage::btree::TreeKind;
use storage::row::{LoadError, OnlineBuild};
use storage::table::{IndexSpec, Table, TableSpec};

use crate::model::History;
use crate::world::{Outcome, World};

/// A build in progress.
pub(crate) struct Building {
    at: usize,
    spec: TableSpec,
    build: OnlineBuild,
    /// The rows of the first view have been read.
    built: bool,
}

fn failed(error: LoadError) -> Box<dyn std::error::Error> {
    format!("{error:?}").into()
}

impl Building {
    /// Begins to build the index, or drops it when it is there. Nobody has changed the table without committing.
    pub(crate) fn begin(world: &mut World, history: &mut History, at: usize) -> Outcome<Option<Self>> {
        let mut spec = history.specs[at].clone();
        if spec.indexes.len() > 2 {
            let gone = spec.indexes.pop().and_then(|index| index.space);
            define(world, history, at, spec)?;
            if let Some(space) = gone {
                world.engine.drop_space(space)?;
            }
            return Ok(None);
        }
        let space = world.engine.create_space()?;
        let (id, root) = world.engine.create_tree(space, TreeKind::Secondary)?;
        let parts = vec![KeyPart { descending: true, ..spec.indexes[1].parts[0] }];
        let (space, since, name) = (Some(space), Lsn::NONE, "added".to_owned());
        spec.indexes.push(IndexSpec { id, space, since, root, unique: false, parts, name });
        let table = Table::new(spec.clone());
        let build = OnlineBuild::begin(world.engine.kernel(), &table, vec![2]);
        Ok(Some(Self { at, spec, build, built: false }))
    }

    /// Reads the rows, then catches up.
    pub(crate) fn go_on(&mut self) -> Outcome<()> {
        if self.built {
            return self.build.catch_up(&mut || false).map(drop).map_err(failed);
        }
        self.built = true;
        self.build.build(&mut || false).map_err(failed)
    }

    /// Nobody has changed the table without committing.
    pub(crate) fn finish(mut self, world: &mut World, history: &mut History) -> Outcome<()> {
        if !self.built {
            self.go_on()?;
        }
        self.go_on()?;
        self.spec.indexes[2].since = self.build.since();
        define(world, history, self.at, self.spec)
    }
}

fn define(world: &mut World, history: &mut History, at: usize, spec: TableSpec) -> Outcome<()> {
    let mut specs = history.specs.clone();
    specs[at] = spec;
    world.engine.log().wait_durable(world.engine.log().ready_lsn())?;
    history.defined(specs);
    world.open_tables(history);
    Ok(())
}
