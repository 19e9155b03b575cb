use super::*;
use crate::scope::Scope;

const ADMIN: Actor = Actor::OPERATOR;

struct Team(State);

impl Team {
    fn new() -> Team {
        let mut team = Team(State::default());
        for (name, role) in [("anna", Role::Member), ("bob", Role::Member), ("eve", Role::Auditor)] {
            let groups = if name == "bob" { BTreeSet::from(["core".to_owned()]) } else { BTreeSet::new() };
            let added = team.0.add_person(&ADMIN, name, role, groups).expect("added");
            team.take(0, added);
        }
        team
    }

    fn take(&mut self, by: u32, event: Event) {
        let seq = self.0.version + 1;
        self.0.take(Entry { seq, at: seq * 1000, by, event });
    }

    fn actor(&self, name: &str) -> Actor {
        let person = self.0.named(name).expect("known");
        Actor { id: person.id, role: person.role, ..Actor::OPERATOR }
    }

    fn key(&mut self, name: &str, new: &NewKey) -> KeyText {
        let (text, actor) = (KeyText::generate().expect("random"), self.actor(name));
        let made = self.0.make_key(&actor, actor.id, &text, new).expect("made");
        self.take(actor.id, made);
        text
    }

    fn holder(&self, key: &KeyText, now: u64) -> Option<String> {
        self.0.holder(&key.hash(), now).map(|(_, person)| person.name.clone())
    }
}

fn code<T: std::fmt::Debug>(outcome: Result<T, TeamError>) -> ErrorCode {
    outcome.expect_err("refused").code()
}

#[test]
fn a_key_names_its_person_until_it_expires_is_revoked_or_its_person_goes() {
    let mut team = Team::new();
    let (kept, short) = (
        team.key("anna", &NewKey::default()),
        team.key("anna", &NewKey { expires_at: Some(50_000), ..NewKey::default() }),
    );
    let revoked = team.key("bob", &NewKey::default());
    assert_eq!(team.holder(&kept, 1).as_deref(), Some("anna"));
    assert_eq!(team.holder(&short, 49_999).as_deref(), Some("anna"));
    assert_eq!(team.holder(&short, 50_000), None);
    let id = revoked.hash().to_string()[..8].to_owned();
    let event = team.0.revoke_key(&team.actor("bob"), &id).expect("revoked");
    team.take(2, event);
    assert_eq!(team.holder(&revoked, 1), None);
    assert_eq!(code(team.0.revoke_key(&team.actor("bob"), &id)), ErrorCode::UnknownKey, "twice");
    let event = team.0.remove_person(&ADMIN, "anna").expect("removed");
    team.take(0, event);
    assert_eq!(team.holder(&kept, 1), None);
    assert_eq!(team.0.name_of(1), "anna", "the audit log still names her");
}

#[test]
fn a_removed_person_leaves_their_number_behind() {
    let mut team = Team::new();
    let removed = team.0.remove_person(&ADMIN, "eve").expect("removed");
    team.take(0, removed);
    let added = team.0.add_person(&ADMIN, "eve", Role::Member, BTreeSet::new()).expect("added");
    assert!(matches!(added, Event::PersonAdded { person: 4, .. }), "{added:?}");
}

#[test]
fn only_admins_manage_people_and_the_keys_of_others() {
    let mut team = Team::new();
    let key = team.key("anna", &NewKey::default());
    let id = key.hash().to_string()[..8].to_owned();
    let text = KeyText::generate().expect("random");
    for name in ["bob", "eve"] {
        let actor = team.actor(name);
        assert_eq!(code(team.0.add_person(&actor, "x", Role::Member, BTreeSet::new())), ErrorCode::RoleNeeded);
        assert_eq!(code(team.0.change_person(&actor, name, Some(Role::Admin), None)), ErrorCode::RoleNeeded);
        assert_eq!(code(team.0.remove_person(&actor, "anna")), ErrorCode::RoleNeeded);
        assert_eq!(code(team.0.make_key(&actor, 1, &text, &NewKey::default())), ErrorCode::RoleNeeded);
        assert_eq!(code(team.0.revoke_key(&actor, &id)), ErrorCode::UnknownKey, "not even its existence is told");
    }
    assert!(team.0.revoke_key(&ADMIN, &id).is_ok());
}

#[test]
fn names_are_plain_and_unique() {
    let team = Team::new();
    let add = |name: &str| team.0.add_person(&ADMIN, name, Role::Member, BTreeSet::new());
    for bad in ["", "a b", "a\nb", "(agent)", &"x".repeat(65), "zoë@example.com", "\u{430}nna", "Policy", "ctx"] {
        assert_eq!(code(add(bad)), ErrorCode::BadRequest, "{bad}");
    }
    assert_eq!(code(add("anna")), ErrorCode::PersonExists);
    for taken in ["operator", "Anna", "OPERATOR"] {
        assert_eq!(code(add(taken)), ErrorCode::PersonExists, "{taken}");
    }
    assert!(add("zoe+ctx@example.com").is_ok());
}

#[test]
fn a_person_with_a_name_that_none_gets_any_more_is_as_others() {
    let mut team = Team::new();
    for (person, name) in [(4, "zoë"), (5, "policy")] {
        let added = Event::PersonAdded { person, name: name.into(), role: Role::Member, groups: BTreeSet::new() };
        team.take(0, added);
        let key = team.key(name, &NewKey::default());
        assert_eq!(team.holder(&key, 1).as_deref(), Some(name));
        assert!(team.0.change_person(&ADMIN, name, Some(Role::Auditor), None).is_ok());
    }
}

#[test]
fn a_share_opens_one_conversation_to_a_person_or_a_group_until_it_ends() {
    let mut team = Team::new();
    let (anna, bob) = (team.actor("anna"), team.actor("bob"));
    let share = |team: &Team, with, access| team.0.share(&anna, "c1", with, access).expect("shared");
    let event = share(&team, Grantee::Person(bob.id), Access::Look);
    team.take(anna.id, event);
    assert_eq!(team.0.open_to(bob.id, 0), [(anna.id, "c1", Access::Look)]);
    let event = share(&team, Grantee::Group("core".into()), Access::Edit);
    team.take(anna.id, event);
    assert_eq!(team.0.open_to(bob.id, 0), [(anna.id, "c1", Access::Edit)], "the most of both");
    assert!(team.0.open_to(team.actor("eve").id, 0).is_empty() && team.0.open_to(anna.id, 0).is_empty());
    for with in [Grantee::Group("core".into()), Grantee::Person(bob.id)] {
        let event = team.0.end_share(&anna, "c1", with).expect("ended");
        team.take(anna.id, event);
    }
    assert!(team.0.open_to(bob.id, 0).is_empty());
    assert_eq!(code(team.0.end_share(&anna, "c1", Grantee::Person(bob.id))), ErrorCode::UnknownPerson);
}

#[test]
fn breaking_the_glass_needs_a_role_and_a_reason_lasts_an_hour_and_is_told_to_the_owner() {
    let mut team = Team::new();
    let (bob, eve) = (team.actor("bob"), team.actor("eve"));
    assert_eq!(code(team.0.break_glass(&bob, (1, "c1"), "a good reason", 0)), ErrorCode::RoleNeeded);
    assert_eq!(code(team.0.break_glass(&eve, (1, "c1"), "  why  ", 0)), ErrorCode::BadRequest);
    let event = team.0.break_glass(&eve, (1, "c1"), "incident 42, leaked token", 1000).expect("opened");
    team.take(eve.id, event);
    assert_eq!(team.0.open_to(eve.id, 1001), [(1, "c1", Access::Look)]);
    assert!(team.0.open_to(eve.id, 1000 + GLASS_LIFETIME).is_empty(), "it is over");
    let [notice] = &team.0.notices(1)[..] else { panic!("one notice") };
    let opened = Deed::Opened { conversation: "c1".into(), reason: "incident 42, leaked token".into() };
    assert_eq!((notice.by.as_str(), &notice.deed), ("eve", &opened));
    assert!(team.0.notices(2).is_empty());
    let demoted = team.0.change_person(&ADMIN, "eve", Some(Role::Member), None).expect("changed");
    team.take(0, demoted);
    assert!(team.0.open_to(eve.id, 1001).is_empty(), "it ends with the role");
    let event = team.0.break_glass(&ADMIN, (1, "c1"), "incident 42, leaked token", 1000).expect("opened");
    team.take(0, event);
    assert_eq!(team.0.open_to(0, 1001), [(1, "c1", Access::Look)], "the operator is not one of the people");
}

#[test]
fn an_account_that_another_person_allows_is_told_to_its_person() {
    let mut team = Team::new();
    let allowed = team.0.allow_account(&ADMIN, "anna", "x-9").expect("allowed");
    team.take(0, allowed.clone());
    let [notice] = &team.0.notices(1)[..] else { panic!("one notice") };
    assert_eq!((notice.by.as_str(), &notice.deed), ("operator", &Deed::AllowedAccount { account: "x-9".into() }));
    team.take(1, allowed);
    assert_eq!(team.0.notices(1).len(), 1, "her own is no news");
    assert!(team.0.notices(2).is_empty());
}

#[test]
fn a_key_that_another_person_makes_is_told_to_its_owner() {
    let mut team = Team::new();
    let own = team.key("anna", &NewKey::default());
    assert!(team.0.notices(1).is_empty(), "her own is no news");
    let text = KeyText::generate().expect("random");
    let made = team.0.make_key(&ADMIN, 1, &text, &NewKey::default()).expect("made");
    team.take(0, made);
    let [notice] = &team.0.notices(1)[..] else { panic!("one notice") };
    assert_eq!((notice.by.as_str(), &notice.deed), ("operator", &Deed::MadeKey { key: text.id() }));
    let maker = |text: &KeyText| team.0.keys().find(|key| key.id == text.id()).map(|key| key.made_by);
    assert_eq!((maker(&own), maker(&text)), (Some(1), Some(0)));
    assert!(team.0.notices(2).is_empty());
}

#[test]
fn the_fold_of_the_stored_log_is_the_same_state() {
    let mut team = Team::new();
    let key = team.key("anna", &NewKey { label: "laptop".into(), ..NewKey::default() });
    let json = serde_json::to_string(team.0.entries()).expect("JSON");
    assert!(!json.contains(key.expose_secret()), "no key is stored");
    let again = State::of(serde_json::from_str::<Vec<Entry>>(&json).expect("entries"));
    assert_eq!(again.entries(), team.0.entries());
    assert_eq!(again.holder(&key.hash(), 0).map(|(_, person)| person.name.clone()), Some("anna".into()));
}

#[test]
fn a_key_makes_no_key_with_more_scopes_than_its_own() {
    let team = Team::new();
    let (text, limited) = (KeyText::generate().expect("random"), Scopes::of([Scope::Look, Scope::Admin]));
    let anna = Actor { scopes: limited, ..team.actor("anna") };
    let make = |scopes: Option<Scopes>| team.0.make_key(&anna, anna.id, &text, &NewKey { scopes, ..NewKey::default() });
    let made = |outcome: Result<Event, TeamError>| match outcome {
        Ok(Event::KeyMade { scopes, .. }) => scopes,
        other => panic!("{other:?}"),
    };
    assert_eq!(made(make(None)), limited, "its own by default");
    assert_eq!(made(make(Some(Scopes::only(Scope::Look)))), Scopes::only(Scope::Look));
    assert_eq!(code(make(Some(Scopes::ALL))), ErrorCode::ScopeNeeded);
    assert_eq!(code(make(Some(Scopes::of([Scope::Edit])))), ErrorCode::ScopeNeeded);
    assert_eq!(code(make(Some(Scopes::NONE))), ErrorCode::BadRequest);
}

#[test]
fn a_key_makes_no_key_that_lasts_longer_than_itself() {
    let team = Team::new();
    let text = KeyText::generate().expect("random");
    let anna = Actor { expires_at: Some(100), ..team.actor("anna") };
    let end = |expires_at| {
        let new = NewKey { expires_at, ..NewKey::default() };
        match team.0.make_key(&anna, anna.id, &text, &new) {
            Ok(Event::KeyMade { expires_at, .. }) => expires_at,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([None, Some(50), Some(200)].map(end), [Some(100), Some(50), Some(100)]);
}

#[test]
fn a_stored_key_without_scopes_has_all_and_one_with_scopes_keeps_them() {
    let mut team = Team::new();
    let limited = NewKey { scopes: Some(Scopes::only(Scope::Proxy)), ..NewKey::default() };
    let (all, proxy) = (team.key("anna", &NewKey::default()), team.key("anna", &limited));
    let json = serde_json::to_string(team.0.entries()).expect("JSON");
    assert_eq!(json.matches("scopes").count(), 1, "an old record has none: {json}");
    let again = State::of(serde_json::from_str::<Vec<Entry>>(&json).expect("entries"));
    let scopes = |key: &KeyText| again.holder(&key.hash(), 0).expect("known").0.scopes;
    assert_eq!((scopes(&all), scopes(&proxy)), (Scopes::ALL, Scopes::only(Scope::Proxy)));
}

#[test]
fn people_may_edit_while_a_share_lets_them_and_others_always() {
    let mut team = Team::new();
    let anna = team.actor("anna");
    let may = |team: &Team, author: &str| team.0.may_edit((1, "c1"), author, 0);
    for author in ["anna", "anna (agent)", "policy", "helper", "cli"] {
        assert!(may(&team, author), "{author}");
    }
    assert!(!may(&team, "bob") && !may(&team, "bob (agent)"));
    let shared = team.0.share(&anna, "c1", Grantee::Group("core".into()), Access::Edit).expect("shared");
    team.take(1, shared);
    assert!(may(&team, "bob (agent)") && !team.0.may_edit((1, "c2"), "bob", 0));
    assert_eq!(team.0.edited_by_guests(), BTreeSet::from([(1, "c1".to_owned(), 2)]));
    let changed = team.0.change_person(&ADMIN, "bob", None, Some(BTreeSet::new())).expect("changed");
    team.take(0, changed);
    assert!(!may(&team, "bob") && team.0.edited_by_guests().is_empty());
    let shared = team.0.share(&anna, "c1", Grantee::Person(2), Access::Edit).expect("shared");
    team.take(1, shared);
    assert!(may(&team, "bob"));
    let removed = team.0.remove_person(&ADMIN, "bob").expect("removed");
    team.take(0, removed);
    assert!(!may(&team, "bob"), "a removed person is still one");
}
