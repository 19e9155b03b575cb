//! The net under a restructuring: what is composed, recognised and counted stays the same to the byte.
//!
//! Each recorded conversation, edited in twenty ways, and each block of random sequences gives one line: its name and a
//! hash. The lines are compared with those in `net/corpus.txt` and `net/random.txt`. `CTX_LONG=1` looks at all of them,
//! otherwise it is a fixed part; `CTX_BLESS=1` writes the lines anew instead of comparing them. `CTX_NET=<name>` prints
//! what goes into the hash of one line, for a comparison with the same from before a change.
//!
//! Only bytes, numbers, ids and codes are hashed. Words that explain may be written better at any time.

mod corpus;
mod golden;
mod random;
pub mod trace;
