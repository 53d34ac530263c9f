// A subject in Node.js without packages: a half_duplex session and the line protocol around it
// (docs/protocol-subject.md).
//
//     python -m realtime_session conform --subject "cmd: node examples/subjects/node_process.mjs"
import { createInterface } from "node:readline";

const ABOUT = {
  name: "half-session-node", version: "1", language: "javascript", supports: ["half_duplex"],
  reports: ["effects", "rule", "findings", "state"],
};

// JSON.parse reads 1.0 as 1, and the contract tells them apart: numbers written with a point or an
// exponent are wrapped before parsing.
class Real { constructor(value) { this.value = value; } }
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const read = (text) => JSON.parse(
  text.replace(TOKEN, (t) => (t[0] !== '"' && /[.eE]/.test(t) ? `{"\\u0000real":${t}}` : t)),
  (key, value) => (value && typeof value === "object" && "\u0000real" in value ? new Real(value["\u0000real"]) : value),
);

const isText = (v) => typeof v === "string";
const isId = (v) => isText(v) && v !== "";
const isFlag = (v) => typeof v === "boolean";
const isCount = (v) => Number.isSafeInteger(v) && v >= 0;
const isFrame = (v) => isCount(v) && v >= 1 && v <= 200;
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v) && !(v instanceof Real);
const matches = (pattern) => (v) => isText(v) && pattern.test(v);
const oneOf = (...words) => (v) => words.includes(v);
const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

const turn = { turn_id: isId }, response = { response_id: isId }, reason = { reason: isId };
const FIELDS = { // type: [required, optional]
  "audio.frame": [{ ...turn, sequence: isCount, duration_ms: isFrame, speech: isFlag }, {}],
  "turn.commit": [turn, { cause: oneOf("speech", "client", "idle_timeout", "text") }],
  "response.started": [{ ...response, ...turn },
    { cause: oneOf("turn", "opening", "reprompt", "interjection"), out_of_band: isFlag }],
  "response.audio": [{ ...response, sequence: isCount, duration_ms: isFrame }, {}],
  "response.text": [{ ...response, sequence: isCount, text: isText }, {}],
  "response.completed": [response, {}],
  "user.interrupt": [{ ...turn, ...response, ...reason }, {}],
  "tool.call": [{ call_id: isId, ...response, name: matches(/^[A-Za-z0-9_.-]{1,80}$/), arguments: isObject },
    { read_only: isFlag }],
  "tool.result": [{ call_id: isId, ...response, ok: isFlag, result: () => true }, { receipt: isText }],
  "transport.disconnected": [reason, { resume_token: isId }],
  "transport.resumed": [{ resume_token: isId }, {}],
  "session.timeout": [reason, {}],
  "session.completed": [reason, { by: oneOf("agent", "caller", "server") }],
  "session.transferred": [{ target: isId, ...reason }, {}],
  "input.text": [{ ...turn, text: isText }, {}],
  "input.dtmf": [{ ...turn, digits: matches(/^[0-9A-D*#]+$/) }, {}],
  "turn.transcript": [{ ...turn, text: isText, final: isFlag }, {}],
  "error.reported": [{ error_type: oneOf("invalid_request", "rate_limited", "provider_unavailable", "tool_failed",
    "permission_denied", "media_corrupt", "context_exceeded", "internal") },
  { code: isId, message: isText, ref_event_id: isId }],
};
const ENVELOPE = { event_id: isId, type: isId, at_ms: isCount, payload: isObject };
const SOURCE = { line: isCount, raw_type: isText, synthetic: isFlag };
const OBSERVATIONS = ["turn.transcript", "error.reported"];
const EXITS = ["session.timeout", "session.transferred"];

function same(v) { // equal text for equal content: 1 and 1.0 are one number
  if (v instanceof Real) return JSON.stringify(v.value);
  if (Array.isArray(v)) return `[${v.map(same)}]`;
  if (isObject(v)) return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${same(v[k])}`)}}`;
  return JSON.stringify(v);
}

function form(event) { // the rule that the form breaks, or null
  if (!isObject(event) || Object.keys(ENVELOPE).some((k) => !has(event, k))) return "event/shape";
  const { payload, type } = event;
  if (!isObject(payload)) return "event/shape";
  let known = null;
  if (isText(type)) {
    known = has(FIELDS, type) ? FIELDS[type] : null;
    if (!known) return "event/unknown_type";
    if (Object.keys(known[0]).some((k) => !has(payload, k))) return "event/shape";
  }
  if (Object.keys(event).some((k) => !has(ENVELOPE, k) && k !== "source")) return "event/unknown_field";
  if (known && Object.keys(payload).some((k) => !has(known[0], k) && !has(known[1], k))) return "event/unknown_field";
  if (Object.entries(ENVELOPE).some(([k, test]) => !test(event[k]))) return "event/value";
  const source = has(event, "source") ? event.source : {};
  if (!isObject(source)) return "event/value";
  const tests = { ...known[0], ...known[1] };
  if (Object.entries(payload).some(([k, v]) => !tests[k](v))) return "event/value";
  if (Object.keys(source).some((k) => !has(SOURCE, k))) return "event/unknown_field";
  return Object.entries(source).some(([k, v]) => !SOURCE[k](v)) ? "event/value" : null;
}

function fits(schema, v) { // the part of JSON Schema that these tools use
  const kind = { object: isObject, string: isText, integer: Number.isInteger, array: Array.isArray, boolean: isFlag };
  if (schema.type && !kind[schema.type](v)) return false;
  if ("minimum" in schema && v < schema.minimum) return false;
  if (!isObject(v)) return true;
  const known = schema.properties ?? {};
  if ((schema.required ?? []).some((k) => !has(v, k))) return false;
  if (schema.additionalProperties === false && Object.keys(v).some((k) => !has(known, k))) return false;
  return Object.entries(v).every(([k, part]) => !has(known, k) || fits(known[k], part));
}

class Refused { constructor(rule) { this.rule = rule; } }
const refuse = (rule) => { throw new Refused(rule); };

class Session {
  constructor(header) {
    this.token = header.resume_token;
    this.queueMs = header.limits?.queue_ms ?? 1000;
    this.tools = header.tools ? new Map(header.tools.map((t) => [t.name, t])) : null;
    this.seen = new Map(); this.now = 0; this.link = "up"; this.recovering = false;
    this.turns = new Map(); this.waiting = []; this.responses = new Map(); this.active = null; this.free = 0;
    this.calls = new Map(); this.done = new Set(); this.findings = [];
  }

  receive(event) {
    const broken = form(event);
    if (broken) return { decision: "rejected", rule: broken };
    const content = same(Object.fromEntries(Object.keys(ENVELOPE).map((k) => [k, event[k]])));
    if (this.seen.has(event.event_id)) {
      return this.seen.get(event.event_id) === content ? { decision: "ignored", reason: "duplicate" }
        : { decision: "rejected", rule: "event/id_conflict" };
    }
    try {
      const effects = this.judge(event, event.type, event.payload, event.at_ms) ?? [];
      this.seen.set(event.event_id, content);
      this.now = event.at_ms;
      return { decision: "accepted", effects, state: { phase: this.phase() } };
    } catch (refused) {
      if (refused instanceof Refused) return { decision: "rejected", rule: refused.rule };
      throw refused;
    }
  }

  close() {
    return this.link === "ended" ? this.findings : [...this.findings, ["session/unfinished", []]];
  }

  phase() {
    if (this.link !== "up") return this.link === "ended" ? "ended" : "disconnected";
    if (this.recovering) return "reconciling";
    if (this.callsThat("open").some(([, c]) => c.response === this.active)) return "waiting_tool";
    if (this.active !== null) return this.responses.get(this.active).audio ? "speaking" : "thinking";
    return this.waiting.length ? "thinking" : "listening";
  }

  callsThat(...states) { return [...this.calls].filter(([, c]) => states.includes(c.status)); }

  judge(event, type, p, at) {
    if (at < this.now) refuse("event/time");
    if (this.link === "ended") refuse("session/terminal");
    const always = [...OBSERVATIONS, ...EXITS, "transport.resumed"];
    if (this.link === "down" && !always.includes(type)) refuse("link/disconnected");
    const free = [...always, "transport.disconnected"];
    const status = type === "tool.result" ? this.calls.get(p.call_id)?.status : null;
    if (this.recovering && !free.includes(type) && status !== "doubt") refuse("link/reconcile_first");
    const waits = this.callsThat("open").some(([, c]) => c.response === this.active);
    if (waits && ![...free, "tool.call", "user.interrupt"].includes(type) && !["open", "doubt"].includes(status)) {
      refuse("tool/wait");
    }
    return this[type](p, at, event);
  }

  openTurn(p) {
    const found = this.turns.get(p.turn_id);
    if (found === "committed") refuse("turn/closed");
    return found ?? { next: 0, content: false, speech: false };
  }

  "audio.frame"(p) {
    const t = this.openTurn(p);
    if (p.sequence !== t.next) refuse("audio/contiguous");
    this.turns.set(p.turn_id, { next: t.next + 1, content: true, speech: t.speech || p.speech });
  }
  "input.text"(p) { this.turns.set(p.turn_id, { ...this.openTurn(p), content: true }); }
  "input.dtmf"(p) { this["input.text"](p); }
  "turn.transcript"(p) {
    if (this.turns.get(p.turn_id) !== "committed" && this.link === "up") this["input.text"](p);
  }
  "turn.commit"(p) {
    const t = this.openTurn(p);
    if (p.cause !== "idle_timeout" && !t.content) refuse("turn/empty");
    if ((p.cause ?? "speech") === "speech" && t.content && !t.speech) refuse("turn/no_speech");
    this.turns.set(p.turn_id, "committed");
    this.waiting.push(p.turn_id);
  }

  "response.started"(p) {
    if (this.responses.has(p.response_id) || this.turns.get(p.turn_id) !== "committed") refuse("response/turn");
    if (this.active !== null && !p.out_of_band) refuse("response/one_active");
    this.responses.set(p.response_id, { status: "active", audio: 0, text: 0 });
    if (p.out_of_band) return;
    this.active = p.response_id;
    this.waiting.splice(0, this.waiting.indexOf(p.turn_id) + 1);
  }
  writing(p, ends = false) {
    const record = this.responses.get(p.response_id) ?? refuse("response/unknown");
    if (record.status === "ended" || (record.status === "stopping" && !ends)) refuse("response/ended");
    return record;
  }
  "response.audio"(p, at) {
    const record = this.writing(p), free = Math.max(this.free, at) + p.duration_ms;
    if (p.sequence !== record.audio) refuse("output/contiguous");
    if (free - at > this.queueMs) refuse("output/queue_limit");
    this.free = free;
    record.audio += 1;
  }
  "response.text"(p) {
    const record = this.writing(p);
    if (p.sequence !== record.text) refuse("output/contiguous");
    record.text += 1;
  }
  "response.completed"(p, at) {
    this.writing(p, true).status = "ended";
    if (this.active === p.response_id) { this.active = null; this.free = at; }
  }
  "user.interrupt"(p, at) {
    if (this.responses.get(p.response_id)?.status !== "active") refuse("interrupt/nothing_to_stop");
    if (this.turns.has(p.turn_id)) refuse("interrupt/turn");
    this.turns.set(p.turn_id, { next: 0, content: false, speech: false });
    return this.stop(p.response_id, at);
  }
  stop(id, at) {
    const effects = [];
    if (id !== null) {
      const record = this.responses.get(id);
      effects.push(`cancel_response(${id})`);
      if (record.audio) effects.push(`clear_playback(${id})`);
      record.status = "stopping";
      if (this.active === id) this.active = null;
    }
    this.free = at;
    for (const [callId, call] of this.callsThat("open")) {
      call.status = call.read ? "abandoned" : "doubt";
      effects.push(`${call.read ? "abandon" : "reconcile"}_tool(${callId})`);
    }
    return effects;
  }

  "tool.call"(p) {
    this.writing(p);
    if (this.calls.has(p.call_id)) refuse("tool/duplicate_call");
    const tool = this.tools?.get(p.name), what = p.name + same(p.arguments);
    if (this.tools && !tool) refuse("tool/undeclared");
    if (tool && !fits(tool.parameters ?? {}, p.arguments)) refuse("tool/arguments");
    if (this.callsThat("doubt").some(([, c]) => c.what === what)) refuse("tool/write_replayed");
    const read = p.read_only ?? Boolean(tool?.read_only);
    this.calls.set(p.call_id, { response: p.response_id, read, status: "open", what });
    return [`run_tool(${p.call_id})`];
  }
  "tool.result"(p, at, event) {
    if (!this.responses.has(p.response_id)) refuse("response/unknown");
    const call = this.calls.get(p.call_id) ?? refuse("tool/unknown_call");
    if (call.response !== p.response_id) refuse("tool/response_mismatch");
    if (call.status === "answered") refuse("tool/already_answered");
    if (call.status === "abandoned") refuse("tool/after_cancel");
    if (!call.read && p.ok) {
      if (this.done.has(call.what)) this.findings.push(["tool/duplicate_effect", [event.event_id]]);
      this.done.add(call.what);
    }
    call.status = "answered";
    this.recovering = this.recovering && this.callsThat("doubt").length > 0;
  }

  "transport.disconnected"(p, at) {
    const effects = this.stop(this.active, at);
    this.link = "down"; this.recovering = false; this.token = p.resume_token ?? this.token;
    return [...effects, "save_checkpoint"];
  }
  "transport.resumed"(p) {
    if (this.link !== "down") refuse("link/not_disconnected");
    if (p.resume_token !== this.token) refuse("link/token");
    const doubt = this.callsThat("doubt");
    this.link = "up"; this.recovering = doubt.length > 0;
    return ["restore_checkpoint", ...doubt.map(([id]) => `reconcile_tool(${id})`)];
  }
  "session.timeout"(p, at) {
    const effects = this.stop(this.active, at);
    this.link = "ended";
    return [...effects, "end_session"];
  }
  "session.transferred"(p, at) { return this["session.timeout"](p, at); }
  "session.completed"(p, at, event) {
    if ([...this.responses.values()].some((r) => r.status === "active")) refuse("response/unfinished");
    const open = this.callsThat("open", "doubt").length > 0;
    if (open && (p.by ?? "agent") === "agent") refuse("tool/unresolved");
    if (open) this.findings.push(["tool/unresolved", [event.event_id]]);
    this.link = "ended";
    return ["end_session"];
  }
  "error.reported"() {}
}

let session = null;
function answer(message) {
  switch (message.cmd) {
    case "hello":
      return message.version === 1 ? { about: ABOUT } : { error: `speaks version 1, not ${message.version}` };
    case "open":
      if ((message.session.profile ?? "half_duplex") !== "half_duplex") return { skip: true, reason: "only half_duplex" };
      session = new Session(message.session);
      return { ok: true };
    case "event": return session.receive(message.event);
    case "close": return { ok: true, findings: session.close() };
    default: return { ok: true };
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const message = read(line);
  process.stdout.write(`${JSON.stringify({ n: message.n, ...answer(message) })}\n`);
  if (message.cmd === "bye") break;
}
