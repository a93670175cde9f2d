/** Types of client.js: a platform's way to a click advisor. */

export type Sign = "like" | "dislike";

export interface PlatformClick {
  item: string;
  sign: Sign;
  at: string;
  /** The public profile knows of it. */
  counted?: boolean;
}

/** Of a batch: what a person thinks of an item from now on; that she was here; or that all that is hers goes. */
export type Line = { person: string; item: string; sign: Sign | null } | { person: string } | { person: string; erase: true };

export interface BatchResult {
  changed: number;
  same: number;
  refused: number;
  /** The first that were refused; lines are counted from 1. */
  problems: { line: number; detail: string }[];
}

export class AdvisorRefusal extends Error {
  status: number;
  detail: string;
}

export class AdvisorClient {
  constructor(url: string, key: string);
  /** She is here: an account is made where she has none, and is good for another year. */
  visit(person: string): Promise<void>;
  click(person: string, item: string, sign: Sign, key?: string): Promise<PlatformClick>;
  undo(person: string, item: string): Promise<void>;
  clicks(person: string): Promise<PlatformClick[]>;
  recommendations(person: string, limit?: number): Promise<string[]>;
  /** Everything that is stored about her. */
  export(person: string): Promise<Record<string, unknown>>;
  erase(person: string): Promise<void>;
  visits(people: string[]): Promise<BatchResult>;
  opinions(rows: [person: string, item: string, sign: Sign | null][]): Promise<BatchResult>;
  eraseAll(people: string[]): Promise<BatchResult>;
  /** With a name, the same lines count once, whoever sends them; else once a call. */
  send(lines: Line[], name?: string): Promise<BatchResult>;
  clicksOf(people: string[]): Promise<Record<string, PlatformClick[] | null>>;
}
