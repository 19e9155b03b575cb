//! Titles that a helper gave to frames behind everybody's back. They are notes, not commits: nobody's undo or
//! `expect` should stumble over them. A title that somebody gave always wins.
