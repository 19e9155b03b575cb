//! Records in a conversation who may open it, and who did.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::timeline::AccessView;
use ctx_engine::log::{self, Automatic};
use ctx_engine::{Refusal, record};
use ctx_store::Step;

impl Parts {
    pub(crate) fn note_access(&self, name: &str, told: &AccessView) -> Result<(), Refusal> {
        let id = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(id);
        let shared = self.stored(id)?;
        let losses = lock(&shared).log.losses;
        let said = Automatic::Access(told.clone());
        let records = vec![record(id, now(), log::AUTOMATIC, &said, Vec::new())];
        let _untold = self
            .writer
            .write_now(Step { records, durable: true, ..Step::default() }, losses)
            .map_err(|error| error.refusal("The change"))?;
        Ok(())
    }
}
