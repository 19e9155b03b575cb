// People, keys, shares and the audit log of a daemon that serves a team.

import { client } from ".";
import { taken } from "./errors";
import type { Schemas } from "./types";

export type Me = Schemas["Me"];
export type Role = "member" | "auditor" | "admin";
export type Person = Schemas["PersonView"];
export type PersonChange = Schemas["PersonChange"];
export type NewPerson = Schemas["NewPerson"];
export type Key = Schemas["KeyView"];
export type NewKey = Schemas["NewKey"];
export type MadeKey = Schemas["MadeKey"];
export type Share = Schemas["ConversationShare"];
export type Figures = Schemas["ConversationFigures"];
export type Notice = Schemas["NoticeView"];
export type AuditEntry = Schemas["AuditEntry"];
export type Login = Schemas["LoginView"];

export const getPeople = async () => (await taken(client.GET("/people"))).people;

export const addPerson = (body: NewPerson) => taken(client.POST("/people", { body }));

export const changePerson = (person: string, body: PersonChange) =>
  taken(client.POST("/people/{person}", { params: { path: { person } }, body }));

export const removePerson = (person: string) =>
  taken(client.POST("/people/{person}/remove", { params: { path: { person } } }));

export const getKeys = async () => (await taken(client.GET("/keys"))).keys;

export const makeKey = (body: NewKey) => taken(client.POST("/keys", { body }));

export const revokeKey = (key: string) => taken(client.POST("/keys/{key}/revoke", { params: { path: { key } } }));

/** A machine that asks to sign in. */
export const getLogin = (code: string) => taken(client.GET("/logins/{code}", { params: { path: { code } } }));

export const approveLogin = (code: string) =>
  taken(client.POST("/logins/{code}/approve", { params: { path: { code } } }));

export const refuseLogin = (code: string) => taken(client.POST("/logins/{code}/refuse", { params: { path: { code } } }));

export const getShares = async () => (await taken(client.GET("/shares"))).shares;

export const share = (conversation: string, body: Schemas["ShareRequest"]) =>
  taken(client.POST("/conversations/{conversation}/share", { params: { path: { conversation } }, body }));

export const unshare = (conversation: string, body: Schemas["ShareRequest"]) =>
  taken(client.POST("/conversations/{conversation}/unshare", { params: { path: { conversation } }, body }));

export const getFigures = async (person: string) =>
  (await taken(client.GET("/people/{person}/conversations", { params: { path: { person } } }))).conversations;

/** Opens a conversation without its owner's permission; the owner is notified. */
export const openFor = (person: string, conversation: string, reason: string) =>
  taken(
    client.POST("/people/{person}/conversations/{conversation}/open", {
      params: { path: { person, conversation } },
      body: { reason },
    }),
  );

/** What is spent, by person, group, model or project: by everyone, for auditors and admins, or by the person alone. */
export const getSpend = (by: Schemas["Grouping"], since: number | undefined, everyone: boolean) =>
  taken(client.GET("/stats", { params: { query: { by, everyone, ...(since === undefined ? {} : { since }) } } }));

export const getNotices = async () => (await taken(client.GET("/notices"))).notices;

export const getAudit = async (limit: number) =>
  (await taken(client.GET("/audit", { params: { query: { limit } } }))).entries;
