//! The composed beginning of a request that the next one repeats.
//!
//! A conversation grows at its end. While operations only replace results of its newest tool calls, everything before
//! composes to the same bytes. A composition therefore leaves that part in the [`Memo`](super::Memo), and the next one
//! composes only the rest. Wherever a rule could reach from the new messages into the settled ones, nothing is settled,
//! and the request is composed as a whole.

use super::layout::{self, Grammar, Layout, is_own};
use super::memo::Memory;
use super::{Input, Out, Piece, Repair, Segment};
use ctx_core::edit::fold::View;
use ctx_core::key::Key;
use ctx_core::message::Role;
use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;

/// The minimum number of settled messages; fewer are not worth it.
const FEWEST: usize = if cfg!(debug_assertions) { 1 } else { 64 };
/// The number of newest messages that stay open: most breakpoints move among them, and the automatic editor shortens
/// results among them. Small in debug builds, so that the short conversations of tests continue too.
const OPEN: usize = if cfg!(debug_assertions) { 3 } else { 64 };
/// The maximum number of open messages; beyond it the whole request is composed, which settles them.
const MOST_OPEN: usize = if cfg!(debug_assertions) { 24 } else { 240 };

/// The border between settled and open messages: the client's first open message, and its index among the sent ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Border {
    pub message: usize,
    pub out: usize,
}

/// The latest border behind which operations only replace tool results of the client's messages. It stands before an
/// assistant message, behind the user's.
pub(crate) fn border(input: &Input<'_>, outs: &[Out]) -> Option<Border> {
    input.under?;
    let (count, sent) = (input.messages.len(), outs.len());
    let is_own = |back: &usize| outs.get(sent - back).is_some_and(|out| is_own(input, out, count - back));
    let own = (1..=count.min(sent).min(MOST_OPEN)).take_while(is_own).count();
    let role = |at: usize| input.messages.get(at).map(|message| message.role);
    let is_border = |at: &usize| role(*at) == Some(Role::Assistant) && role(*at - 1) == Some(Role::User);
    let message = (count - own + 1..=count.checked_sub(OPEN)?).rev().find(is_border)?;
    (message >= FEWEST).then_some(Border { message, out: sent - (count - message) })
}

/// The part of a composed request that the next one repeats. `T`: what the composer needs beside the messages.
#[derive(Debug)]
pub(crate) struct Settled<T> {
    /// Only requests with this number may continue from it.
    under: u64,
    /// The start of the messages in the body, and the end of the last settled one.
    span: (usize, usize),
    /// The number of settled messages of the client.
    pub messages: usize,
    /// The number of replacement texts in them.
    texts: usize,
    /// Whether operations replaced tool results behind them.
    edited: bool,
    pub outs: Arc<Vec<Out>>,
    pub after: Vec<Key>,
    pub segments: Vec<Segment>,
    pub repairs: Vec<Repair>,
    pub own: T,
}

/// A finished composition, to be settled.
pub(crate) struct Finished<'f> {
    pub outs: &'f [Out],
    /// The number of replacement texts.
    pub texts: usize,
    /// The prefix digest after each message.
    pub after: &'f [Key],
    /// The segments of the messages before the border.
    pub segments: Vec<Segment>,
    pub repairs: &'f [Repair],
}

/// The open messages of a request, as they are sent.
pub(crate) struct OpenMessages<'a> {
    pub outs: Vec<Out>,
    /// The replacement texts of all tool results.
    pub texts: Vec<&'a str>,
}

/// The composed beginning of the last request.
#[derive(Debug)]
struct LastSettled<T>(RefCell<Option<Arc<Settled<T>>>>);

impl<T> Default for LastSettled<T> {
    fn default() -> Self {
        LastSettled(RefCell::new(None))
    }
}

impl<T: Debug + Send + Sync + 'static> Memory for LastSettled<T> {
    fn keep(&mut self, messages: usize) {
        self.0.get_mut().take_if(|settled| messages < settled.messages);
    }
}

/// Stores the part before the border for the next request.
pub(crate) fn keep<T: Debug + Send + Sync + 'static>(
    input: &Input<'_>,
    border: Border,
    finished: Finished<'_>,
    own: T,
) {
    let Finished { outs, texts, after, segments, repairs } = finished;
    let request = input.body.spans();
    let last = request.messages.get(border.message - 1);
    let parts = (input.under, last, outs.get(..border.out), outs.get(border.out..), after.get(..border.out));
    let (Some(under), Some(last), Some(outs), Some(open), Some(after)) = parts else { return };
    let replaced = open.iter().map(replaced).sum::<usize>();
    *input.memo.get::<LastSettled<T>>().0.borrow_mut() = Some(Arc::new(Settled {
        under: under.number,
        span: (request.array.start, last.end),
        messages: border.message,
        texts: texts - replaced,
        edited: replaced > 0,
        outs: Arc::new(outs.to_vec()),
        after: after.to_vec(),
        segments,
        repairs: repairs.to_vec(),
        own,
    }));
}

/// Forgets the settled part: operations may have been added that it does not have.
pub(crate) fn forget<T: Debug + Send + Sync + 'static>(input: &Input<'_>) {
    if input.under.is_some() {
        input.memo.get::<LastSettled<T>>().0.borrow_mut().take();
    }
}

/// The settled part from which a request may continue, as far as its messages are concerned.
pub(crate) fn last<T: Debug + Send + Sync + 'static>(input: &Input<'_>) -> Option<Arc<Settled<T>>> {
    let settled = input.memo.get::<LastSettled<T>>().0.borrow().clone();
    settled.filter(|settled| settled.fits(input))
}

/// The number of tool results in a message whose text is replaced.
pub(crate) fn replaced(out: &Out) -> usize {
    out.pieces.iter().flatten().filter(|piece| matches!(piece, Piece::Client { text: 1.., .. })).count()
}

impl<T> Settled<T> {
    fn fits(&self, input: &Input<'_>) -> bool {
        let request = input.body.spans();
        let open = input.messages.len().checked_sub(self.messages);
        let end = self.messages.checked_sub(1).and_then(|last| request.messages.get(last)).map(|last| last.end);
        input.under.is_some_and(|under| under.number == self.under && under.edited_from >= self.messages)
            && open.is_some_and(|open| (OPEN..=MOST_OPEN).contains(&open))
            && self.span.0 == request.array.start
            && Some(self.span.1) == end
    }

    /// Lays the open messages out; `None` if operations do more to them than replace tool results.
    pub fn open<'a, G: Grammar<'a>>(
        &self,
        input: &'a Input<'a>,
        view: &dyn Fn() -> &'a View<'a>,
        grammar: impl FnOnce(&'a View<'a>) -> G,
    ) -> Option<OpenMessages<'a>> {
        // The settled texts are written already; only their number counts.
        let texts = vec![""; self.texts];
        if self.edited || input.under.is_some_and(|under| under.edited_from < input.messages.len()) {
            let view = view();
            return lay_out_from(self.messages, texts, input, view, &grammar(view));
        }
        let roles = input.messages.iter().map(|message| message.role).enumerate().skip(self.messages);
        let outs = roles.map(|(at, role)| Out::whole(at as u32, role)).collect();
        Some(OpenMessages { outs, texts })
    }
}

/// Lays the messages from this one on out; `None` if operations do more to them than replace tool results. `texts` are
/// those of the messages before.
fn lay_out_from<'a, G: Grammar<'a>>(
    message: usize,
    texts: Vec<&'a str>,
    input: &'a Input<'a>,
    view: &'a View<'a>,
    grammar: &G,
) -> Option<OpenMessages<'a>> {
    let Layout { outs, made, texts, repairs, covered } = layout::lay_out_from(message, texts, input, view, grammar);
    let is_plain = made.is_empty() && repairs.is_empty() && covered.is_empty();
    (is_plain && are_own(input, &outs, message)).then_some(OpenMessages { outs, texts })
}

/// Whether these are all messages of the client from this one on, as [`is_own`] says.
pub(crate) fn are_own(input: &Input<'_>, outs: &[Out], from: usize) -> bool {
    outs.len() == input.messages.len() - from && (from..).zip(outs).all(|(at, out)| is_own(input, out, at))
}
