// Made of the JSON Schemas in docs/ and web/schema/ by web/types.mjs: npm run build.

/** A cause that fits a flow too. */
export interface AlternativeCause {
  /** Which. */
  cause: Cause;
  /** Its probability, 0 to 1. */
  probability: number;
}

/** A law by which a queue drops early (active queue management). */
export type Aqm = "codel";

/** A band: `low`, `median`, `high`, a value a bin. */
export interface Band {
  /** The three. */
  columns: Record<string, PageColumn>;
}

/** Median and band over the repeats, in bins of time: where the columns are. */
export interface Bands {
  /** The quantiles over them that bands lie between; 0 and 1 are least and most. */
  between: [number, number];
  /** Width of a bin, seconds; the first begins with the run. */
  bin_s: number;
  /** Of elements. */
  elements: SeriesBands[];
  /** Of flows; of many those with most goodput. */
  flows: SeriesBands[];
  /** How many repeats. */
  repeats: number;
  /** Goodput of all flows together, Mbit/s. */
  total?: Band;
}

/** What both captures say of one direction of a connection, between them. */
export interface BetweenEnds {
  /** Of these, those that were lost. */
  bare_lost: number;
  /** Packets without payload, ACKs as a rule. */
  bare_packets: number;
  /** How much longer than that packets took, ms: queueing in this direction alone. */
  late_ms: LateSummary;
  /** What the way took at least, ms, right to `clock_offset_error_ms`; absent where nothing arrived. */
  least_ms?: number;
  /** The lost packets; the first thousand where there are more. */
  lost: LostBetween[];
  /** Packets with payload that were lost between the captures, wholly or (of those that offload cuts afterwards) in part. */
  lost_packets: number;
  /** Payload sent again although an earlier transmission of it arrived, bytes. */
  needless_bytes: number;
  /** The same over time; parts in which nothing was sent are left out. */
  over_time: LatePart[];
  /** Packets with payload of which it is not known: the other capture had not begun, had ended, or missed packets. */
  unknown_packets: number;
}

/** Two captures put together. All else is told by the clock and the addresses of the first. */
export interface BothEndsInfo {
  /** The drift is right to plus or minus this, millionths. */
  clock_drift_error_ppm: number;
  /** How much faster the second clock runs, millionths. */
  clock_drift_ppm: number;
  /** The offset is right to plus or minus this, ms: half of the least time from one capture to the other and back. If that takes as long there as back, it is exact. Neither losses nor `late_ms` hang on it. Absent where packets of one direction only are in both: the offset cannot be known, and is told as if the least way took no time. */
  clock_offset_error_ms?: number;
  /** How far the second capture's clock was ahead of the first's at the first packet in both, ms. */
  clock_offset_ms: number;
  /** Packets that arrived at the second capture and that the first should have, and has not. */
  missed_first: number;
  /** The other way round. */
  missed_second: number;
  /** Connections that only the first has; they are told as by one capture. */
  only_first: number;
  /** Directions of UDP flows that only the first has; they are told as by one capture. */
  only_first_udp: number;
  /** Connections that only the second has; they are not told. */
  only_second: number;
  /** That only the second has; they are not told. */
  only_second_udp: number;
  /** The second capture's name as given. */
  other_file: string;
  /** Connections that both captures have. */
  paired_connections: number;
  /** Directions of UDP flows that both captures have. */
  paired_udp_flows: number;
  /** Of these, those with other addresses or ports in the second (NAT): paired by the sequence numbers of both SYNs. */
  translated_connections: number;
  /** Of these, those with other addresses or ports in the second (NAT): paired by their payload. */
  translated_udp_flows: number;
}

/** A flow: what the diagnosis says of it, but for its timeline, and what the page needs besides. */
export interface CaptureFlow {
  /** What fits too, the likelier first; empty where `confidence` is at least `SURE`. */
  alternatives?: AlternativeCause[];
  /** What a second capture at the other end says; absent where there was none, or it does not have this connection. */
  between_ends?: BetweenEnds;
  /** Main cause: the one with the greatest share. */
  cause: Cause;
  /** All causes, greatest first. */
  causes: CauseShare[];
  /** The sender's congestion control, as it seems. */
  cc: Guess;
  /** Probability that `cause` is right, 0 to 1. */
  confidence: number;
  /** Number of the connection in the capture. */
  connection: number;
  /** From first data to its last ACK, seconds. */
  duration_s: number;
  /** What tables say of it. */
  figures: FlowFigures;
  /** Sender, `address:port`. */
  from: string;
  /** Number within the diagnosis (`FlowDiagnosis::number`); stays the same whatever the order. */
  id: number;
  /** Index into `Diagnosis::limiters`. */
  limiter?: number;
  /** What was measured. */
  measures: Measures;
  /** The capture that would decide between them; absent where `confidence` is at least `SURE`. */
  needs?: CaptureNeed;
  /** What should be known about how far the numbers can be trusted, as codes: `no-handshake`, `window-scale-unknown`, `window-scale-refuted` (more was in flight than windows of that scale allow), `capture-missed-packets`, `one-way` (only one direction captured), `rtt-from-capture` (the way between sender and capture is not in it), `options-cut` (the snap length cut TCP options off), `no-sack`, `duplicate-records` (counted once), `few-packets` (too few for a verdict on the path), `no-packets` (known by its socket's counters alone), `qlog` (from a QUIC sender's qlog), `qlog-receiver` (from a receiver's), `qlog-no-acks`, `qlog-no-cwnd`, `qlog-no-flow-control` (what that log lacks), `qlog-cut` (it ends in the middle of an event) …. */
  notes?: string[];
  /** Null beyond the flows with most bytes. */
  packets: Packets | null;
  /** Packets of the capture that show what is said of the flow: a proof of each cause that held it for a hundredth of its time, and of what else was found. */
  proofs?: PacketProof[];
  /** What the sender's qlog says of its congestion control; absent where the flow is not from a sender's qlog, or that states no congestion window. */
  qlog?: QlogAccount;
  /** What would help, the most likely first. */
  remedies?: Change[];
  /** How the connection was reset, where it was. */
  reset?: ConnectionReset;
  /** How long the sender took to answer what it was asked; absent where it was asked nothing. */
  responses?: ResponseTimes;
  /** Its timeline. */
  ribbon: Ribbon;
  /** How the connection was set up, where that took more than one SYN and its answer. */
  setup?: ConnectionSetup;
  /** What the sending host's kernel counted of the flow's socket; absent where that was not watched. */
  socket?: SocketAccount;
  /** First packet, seconds since the capture began. */
  start_s: number;
  /** Receiver. */
  to: string;
  /** Where the capture sits. */
  vantage: Vantage;
}

/** A capture as a whole. */
export interface CaptureInfo {
  /** TCP packets that are earlier than the one before them: the clock ran backwards, or files were joined in another order. Times are taken as going on. */
  backward_times?: number;
  /** A second capture, taken at the other end, that was put together with this one; absent where there was none. */
  both_ends?: BothEndsInfo;
  /** TCP connections. */
  connections: number;
  /** Where and why reading ended early; all before it was read. */
  damage?: Damage;
  /** Packets that the capture program says it dropped. */
  dropped?: number;
  /** Records that stood in the file twice. */
  duplicate_records: number;
  /** From first to last record, seconds. */
  duration_s: number;
  /** The file's name as given; `-` for standard input. */
  file: string;
  /** Flows that are not in `flows`: of so many only those with most bytes are kept. */
  forgotten_flows?: number;
  /** Directions of UDP flows that are not in `udp_flows`: of so many only those with most bytes are kept. */
  forgotten_udp_flows?: number;
  /** Format and compression: `pcap`, `pcapng`, `pcap (zstd)` …. */
  format: string;
  /** Times that the capture's clock was set ahead, as the senders' own clocks tell, or a silence longer than any connection outlives. What it jumped over does not count. */
  forward_jumps?: number;
  /** Later fragments of IP packets, without TCP header. */
  fragments: number;
  /** Link layers of its interfaces, as `ethernet`, `raw-ip`, `linux-cooked-v2`. */
  links: string[];
  /** Payload bytes that were acknowledged but are not in the capture. */
  missed_bytes: number;
  /** The most by which one is, seconds. */
  most_backward_s?: number;
  /** The longest jump, seconds. */
  most_forward_s?: number;
  /** Records that hold neither TCP nor UDP, by reason (`arp`, `icmp`, `cut before TCP`, `bad header` …). */
  other?: Counted[];
  /** Records read. */
  packets: number;
  /** First record, seconds since 1970. */
  start_s: number;
  /** Records with TCP. */
  tcp_packets: number;
  /** Packets found inside tunnels and encapsulations, by kind (`gre`, `vxlan`, `esp-in-udp` …). */
  tunnels?: Counted[];
  /** Records with UDP. */
  udp_packets: number;
  /** Bytes of the packets on the wire. */
  wire_bytes: number;
}

/** What a capture that decides between causes must have. */
export type CaptureNeed = "every-packet" | "both-directions" | "whole-headers" | "from-the-syn" | "longer" | "at-the-sender" | "at-the-receiver";

/** The data of the page of a capture. */
export interface CapturePage {
  /** The capture. */
  capture: CaptureInfo;
  /** Names of causes, by number. */
  causes: string[];
  /** Most bytes first. */
  flows: CaptureFlow[];
  /** `longfat-diagnosis/3`. */
  format: string;
  /** Names of packets' kinds, by number. */
  kinds: string[];
  /** The language to open in. */
  lang: Lang;
  /** What limits flows on the path. */
  limiters: Limiter[];
  /** Version of longfat. */
  longfat: string;
  /** Flows that are not here. */
  more: number;
  /** Flows of UDP that are not here. */
  more_udp: number;
  /** What should be known of the capture. */
  notes: { en: string[]; zh: string[]; };
  /** What is said of groups of flows. */
  told: { en: PageTold[]; zh: PageTold[]; };
  /** Flows of UDP, most bytes first. */
  udp: CaptureUdpFlow[];
}

/** Where the capture was taken. */
export type CapturePlace = "sender" | "receiver" | "middle" | "unknown";

/** A flow of UDP: what the diagnosis says of it, and how the terminal's table says it. */
export interface CaptureUdpFlow {
  /** What was lost and late between two captures of the path; absent where there is one. */
  between_ends?: UdpBetweenEnds;
  /** From the first to the last datagram, seconds. */
  duration_s: number;
  /** Sender, `address:port`. */
  from: string;
  /** Number within the UDP flows, as with TCP: even of who sent first, odd of the other. */
  id: number;
  /** IP bytes. */
  ip_bytes: number;
  /** The rate limit that it went through, where one shows. */
  limiter?: Limiter;
  /** Whether losses are known, and by what. */
  loss: UdpLoss;
  /** Share of its packets that were lost, where that is known. */
  lost?: number;
  /** Packets lost, where that is known. */
  lost_packets?: number;
  /** The greatest rate over half a second, Mbit/s; absent of shorter flows. */
  max_rate_mbps?: number;
  /** The rate over time. */
  over_time: UdpRate[];
  /** Datagrams. */
  packets: number;
  /** Payload, bytes. */
  payload_bytes: number;
  /** `quic`, `rtp` or `udp`: what shows in the packets. */
  protocol: string;
  /** What it is, in both languages. */
  protocol_text: { en: string; zh: string; };
  /** What QUIC's handshake shows. */
  quic?: QuicFacts;
  /** IP bytes over the duration, Mbit/s. */
  rate_mbps: number;
  /** What RTP's numbers and timestamps show. */
  rtp?: RtpFacts;
  /** RTTs by the spin bit, what the ends wait among them (RFC 9312 section 3.8.2); absent where it does not spin. */
  spin_rtt_ms?: RttSummary;
  /** First datagram, seconds since the capture began. */
  start_s: number;
  /** Receiver. */
  to: string;
}

/** What packets of a flow a stage carries. */
export type Carried = "data" | "acks" | "both";

/** What can limit a flow. */
export type Cause = "application" | "receive-window" | "receiver-stalled" | "send-buffer" | "slow-start" | "random-loss" | "congestion" | "bottleneck" | "policed" | "shaped" | "outage" | "packet-too-big" | "black-hole" | "fragmented" | "setup-failed" | "nagle" | "ack-path" | "unknown";

/** A cause and its share of the flow's time. */
export interface CauseShare {
  /** Which. */
  cause: Cause;
  /** The same in seconds. */
  seconds: number;
  /** Share of the flow's time, 0 to 1; those of a flow add up to 1. */
  share: number;
}

/** A stretch of the ribbon: which cause held when. */
export interface CauseSpan {
  /** Which. */
  cause: Cause;
  /** Seconds since the capture began. */
  from_s: number;
  /** Until then. */
  to_s: number;
}

/** A change that would help. */
export interface Change {
  /** What to type, with its undo; of several for one host one is enough. Empty where no command makes the change, or where what is there now could not be read and so could not be restored. */
  commands?: CommandSet[];
  /** What is expected to change; empty where no bound is known. */
  effects?: ChangeEffect[];
  /** What to change. */
  kind: ChangeKind;
  /** The name to choose, where one is chosen by name: `bbr`, `fq_codel`; or what holds the value: `tcp_rmem`. */
  name?: string;
  /** Where. */
  place: ChangePlace;
  /** The number to set, where it is one. */
  setting?: ChangeSetting;
  /** Why it helps, in a sentence; empty where what the change belongs to says why. */
  why?: string;
}

/** A change of something measured. */
export interface ChangeEffect {
  /** What that is: a bound or an estimate. */
  bound: EffectBound;
  /** How `then` is computed, and where that is from; or what was simulated. */
  formula: string;
  /** Of what. */
  measure: EffectMeasure;
  /** As measured or simulated; absent where the capture does not show it. */
  now?: number;
  /** As expected with the change. */
  then: number;
  /** The unit of both numbers. */
  unit: ChangeUnit;
}

/** What is changed. */
export type ChangeKind = "shape" | "congestion-control" | "pacing" | "pacing-cap" | "small-bursts" | "bucket-size" | "queue-management" | "ecn" | "queue-length" | "higher-rate" | "repair-link" | "receive-buffer" | "flow-control" | "window-scaling" | "receiving-application" | "send-buffer" | "sending-application" | "reuse-connections" | "more-connections" | "split-proxy" | "initial-window" | "idle-restart" | "loss-recovery" | "retransmission-timeout" | "saved-metrics" | "link-log" | "return-path" | "mss-clamp" | "allow-icmp" | "mtu-probing" | "no-delay" | "write-at-once" | "accept-queue" | "backlog" | "tcp-memory" | "offloads" | "host-setting" | "service" | "reachability" | "capture-again";

/** Where a change is made. Also names who must be able to make it: those who run that place. */
export type ChangePlace = "sender" | "receiver" | "both-ends" | "sender-edge" | "limiter" | "before-capture" | "behind-capture" | "path" | "return-path";

/** A number to set. */
export interface ChangeSetting {
  /** What it is now, as far as that was seen; absent where it is unknown. */
  now?: number;
  /** What it should be. */
  to: number;
  /** Of both. */
  unit: ChangeUnit;
}

/** What a number of a change counts. */
export type ChangeUnit = "Mbit/s" | "bytes" | "ms" | "s" | "times";

/** Which clock drove the run. */
export type Clock = "sim" | "kernel";

/** One way to make a change on one platform. */
export interface CommandSet {
  /** Lines that make the change. On Linux a shell reads them; `$DEV` is the interface. */
  apply: string[];
  /** The host of the scenario, or the network namespace, that they are for. */
  at: string;
  /** Versions and modules that they need. */
  needs: string;
  /** For what it is written. */
  platform: Platform;
  /** The next host, towards which `$DEV` or the interface leads, or the peer that `$PEER` is; absent where none is named. */
  towards?: string;
  /** Lines that undo it. A line that begins with `#` says what is not known of what was there before. */
  undo: string[];
}

/** Which end of a connection. */
export type ConnectionEnd = "client" | "server";

/** How a connection was reset. */
export interface ConnectionReset {
  /** One of the ends had ended its stream (FIN): it was about to close. */
  after_fin: boolean;
  /** When, seconds since the capture began. */
  at_s: number;
  /** By whom, as its addresses say: something on the way may have sent it in its name. */
  by: ConnectionEnd;
  /** Payload bytes that the client had sent. */
  client_bytes: number;
  /** Data was not yet acknowledged; else the connection was at rest. */
  outstanding: boolean;
  /** Payload bytes that the server had sent. */
  server_bytes: number;
}

/** How a connection was set up. */
export interface ConnectionSetup {
  /** How it failed; absent where it did not. */
  failed?: SetupEnd;
  /** From the first SYN to the reset that refused it, ms. */
  refused_after_ms?: number;
  /** From the first SYN to the last, seconds. */
  retried_s: number;
  /** SYN/ACKs of the other end. */
  syn_acks: number;
  /** SYNs of the end that opened it; all but the first are retries. */
  syns: number;
  /** What ICMP said: `network`, `host`, `port`, `prohibited` or `other`. */
  unreachable?: string;
}

/** A name and how many. */
export interface Counted {
  /** How many. */
  count: number;
  /** Of what. */
  name: string;
}

/** Damage of a file. */
export interface Damage {
  /** Byte offset in the (decompressed) capture. */
  offset: number;
  /** What is wrong there. */
  what: string;
}

/** A process of the run that ended before its time: a daemon, a relay, a flow's program. */
export interface DeadComponent {
  /** When it was found dead, ms since the run began. */
  at_ms: number;
  /** What it is and where: "host gw: charon (IPsec over link access)". */
  component: string;
  /** How it ended: "killed by signal 9". */
  how: string;
}

/** Time packets spent inside an element, milliseconds. */
export interface DelaySummary {
  /** Largest. */
  max: number;
  /** Mean. */
  mean: number;
}

/** The diagnosis of a capture. */
export interface Diagnosis {
  /** The capture. */
  capture: CaptureInfo;
  /** Directions of connections that carried payload, the one with most bytes first; and connections whose setup failed. */
  flows: FlowDiagnosis[];
  /** Policers, shapers and bottlenecks found; flows refer to them by number. */
  limiters: Limiter[];
  /** What this is, and its version. */
  schema: string;
  /** Directions of UDP flows, the one with most bytes first; at most a thousand. */
  udp_flows?: UdpFlowDiagnosis[];
}

/** How an expected value bounds what will be measured. */
export type EffectBound = "at-most" | "about" | "simulated";

/** What is expected to change. */
export type EffectMeasure = "goodput" | "total-goodput" | "queue-delay" | "zero-windows" | "answer-time";

/** A path element's summary. */
export interface ElementResult {
  /** Time inside. */
  delay_ms: DelaySummary;
  /** Packets dropped, those aside that were too big. */
  dropped_packets: number;
  /** Packets that were cut into fragments here. */
  fragmented_packets?: number;
  /** What they became; each counts among `passed_packets`. */
  fragments?: number;
  /** Fragments, each packet's first aside, that were joined here to the packets they are part of. */
  joined_packets?: number;
  /** `policer`, `shaper`, `link` …. */
  kind: string;
  /** Packets marked (ECN CE or DSCP). */
  marked_packets: number;
  /** The longest queue, packets. */
  max_queue_packets: number;
  /** `link.direction.stage`. */
  name: string;
  /** Packets handed on. */
  passed_packets: number;
  /** What they were too big for; absent where none was, or where a limiter's bucket is smaller than a packet. */
  too_big?: TooBigPackets;
  /** Packets that ended here because they were too big: bounced to their sender, or dropped where it is not told. */
  too_big_packets?: number;
}

/** An element's columns. */
export interface ElementSeries {
  /** By name. */
  columns: Record<string, PageColumn>;
  /** The element's name. */
  name: string;
}

/** Columns of one length. */
export interface EncodedTable {
  /** By name. */
  columns: Record<string, PageColumn>;
}

/** A mean over repeats with its uncertainty. */
export interface Estimate {
  /** Half the width of the 95 % confidence interval: the mean is within ± this (Student's t). */
  ci95: number;
  /** Mean. */
  mean: number;
}

/** Something that was expected of a variant, and what came. */
export interface Expectation {
  /** Which clock drove that. */
  clock: Clock;
  /** As it was written: `upload.goodput > 18Mbit/s`. */
  expected: string;
  /** What was measured, in `unit`; of several connections the one that is furthest from it. Absent where there was nothing to measure, and then it is not met. */
  measured?: number;
  /** Whether it came so. */
  met: boolean;
  /** `Mbit/s`, `%`, `ms`, `s`; empty for counts and indexes. */
  unit: string;
  /** The variant it was held against. */
  variant: string;
}

/** How the variants of all results were run. */
export interface Facts {
  /** Each once. */
  clocks: Clock[];
  /** The shortest and the longest, seconds; 0 without any. */
  duration_s: [number, number];
  /** The most that any was repeated; 0 for none. */
  repeats: number;
  /** Each once. */
  seeds: number[];
  /** How many. */
  variants: number;
}

/** A fault of the scenario (`faults`). */
export interface FaultResult {
  /** When it began, seconds since the run began. */
  at_s: number;
  /** `link`, `tunnel`, `bgp` …, as scenarios spell it. */
  kind: string;
  /** How long it lasted, seconds. */
  lasts_s: number;
  /** Its name. */
  name: string;
  /** The link, or the host, that it befell. */
  of: string;
}

/** What tables say of a variant, or of one of its flows. What is not known is absent. */
export interface Figures {
  /** The bandwidth-delay product of that rate and the shortest round trip, in full packets. */
  bdp_packets?: number;
  /** Congestion controls, each once. */
  cc: string;
  /** Half the width of its 95 % confidence interval, of several repeats. */
  ci95_mbps?: number;
  /** The rate that all flows meet together, or each for itself where they were measured one at a time, Mbit/s. */
  common_limit_mbps?: number;
  /** Seconds that flows took from start to last byte, median. */
  completion_p50_s?: number;
  /** 95th percentile. */
  completion_p95_s?: number;
  /** Share of datagrams that did not arrive, 0 to 1, of the flow that lost most. */
  datagrams_lost?: number;
  /** One-way delay of datagrams, ms, median, of the flow in which it is longest; of calls alone where there are calls. */
  delay_p50_ms?: number;
  /** 95th percentile, as above. */
  delay_p95_ms?: number;
  /** Packets that elements dropped. */
  dropped?: number;
  /** Their goodputs, least and most, Mbit/s. */
  each_mbps?: [number, number];
  /** Flows compared: the TCP flows, or all where there is none. */
  flows: number;
  /** Goodput over repeats, Mbit/s: least, quartiles, most. */
  goodput_box?: number[];
  /** Payload delivered, Mbit/s; absent where flows were measured one at a time, whose sum says nothing. */
  goodput_mbps?: number;
  /** Jain's fairness index, of several flows that are alike and shared the path. */
  jain_index?: number;
  /** Interarrival jitter of datagrams (RFC 3550 section 6.4.1), ms, of the flow in which it is largest. */
  jitter_ms?: number;
  /** Share of TCP's data packets that the path dropped, 0 to 1, where every flow knows it. */
  lost?: number;
  /** The longest queue of any element, packets. */
  max_queue?: number;
  /** The least mean opinion score of a call (ITU-T G.107 annex B), 1 to 4.5. */
  mos?: number;
  /** Seconds of whole pages, median, as above. */
  page_p50_s?: number;
  /** 95th percentile, as above. */
  page_p95_s?: number;
  /** Time of probes there and back, ms, median, of the flow in which it is longest. */
  probe_p50_ms?: number;
  /** 95th percentile, as above. */
  probe_p95_ms?: number;
  /** Retransmissions. */
  resent: number;
  /** Seconds from request to last byte of the answer, median. */
  response_p50_s?: number;
  /** 95th percentile, as above. */
  response_p95_s?: number;
  /** Mean RTT over repeats, ms: least, quartiles, most. */
  rtt_box?: number[];
  /** Mean, as above. */
  rtt_mean_ms?: number;
  /** Median RTT over time, ms, of the TCP flow in which it is longest (`Measure`). */
  rtt_p50_ms?: number;
  /** 95th percentile, as above. */
  rtt_p95_ms?: number;
  /** Goodput as a share of the tightest limit, 0 to 1. */
  share?: number;
  /** The part of it that TCP flows carried, where there are both. */
  tcp_mbps?: number;
  /** Retransmission timeouts. */
  timeouts: number;
  /** The part of it that datagrams carried, as above. */
  udp_mbps?: number;
  /** Flows that have an end and did not come to it. */
  unfinished: number;
}

/** One direction of one connection. */
export interface FlowDiagnosis {
  /** What fits too, the likelier first; empty where `confidence` is at least `SURE`. */
  alternatives?: AlternativeCause[];
  /** What a second capture at the other end says; absent where there was none, or it does not have this connection. */
  between_ends?: BetweenEnds;
  /** Main cause: the one with the greatest share. */
  cause: Cause;
  /** All causes, greatest first. */
  causes: CauseShare[];
  /** The sender's congestion control, as it seems. */
  cc: Guess;
  /** Probability that `cause` is right, 0 to 1. */
  confidence: number;
  /** Number of the connection in the capture. */
  connection: number;
  /** From first data to its last ACK, seconds. */
  duration_s: number;
  /** Sender, `address:port`. */
  from: string;
  /** Number within the diagnosis (`FlowDiagnosis::number`); stays the same whatever the order. */
  id: number;
  /** Index into `Diagnosis::limiters`. */
  limiter?: number;
  /** What was measured. */
  measures: Measures;
  /** The capture that would decide between them; absent where `confidence` is at least `SURE`. */
  needs?: CaptureNeed;
  /** What should be known about how far the numbers can be trusted, as codes: `no-handshake`, `window-scale-unknown`, `window-scale-refuted` (more was in flight than windows of that scale allow), `capture-missed-packets`, `one-way` (only one direction captured), `rtt-from-capture` (the way between sender and capture is not in it), `options-cut` (the snap length cut TCP options off), `no-sack`, `duplicate-records` (counted once), `few-packets` (too few for a verdict on the path), `no-packets` (known by its socket's counters alone), `qlog` (from a QUIC sender's qlog), `qlog-receiver` (from a receiver's), `qlog-no-acks`, `qlog-no-cwnd`, `qlog-no-flow-control` (what that log lacks), `qlog-cut` (it ends in the middle of an event) …. */
  notes?: string[];
  /** Packets of the capture that show what is said of the flow: a proof of each cause that held it for a hundredth of its time, and of what else was found. */
  proofs?: PacketProof[];
  /** What the sender's qlog says of its congestion control; absent where the flow is not from a sender's qlog, or that states no congestion window. */
  qlog?: QlogAccount;
  /** What would help, the most likely first. */
  remedies?: Change[];
  /** How the connection was reset, where it was. */
  reset?: ConnectionReset;
  /** How long the sender took to answer what it was asked; absent where it was asked nothing. */
  responses?: ResponseTimes;
  /** How the connection was set up, where that took more than one SYN and its answer. */
  setup?: ConnectionSetup;
  /** What the sending host's kernel counted of the flow's socket; absent where that was not watched. */
  socket?: SocketAccount;
  /** First packet, seconds since the capture began. */
  start_s: number;
  /** Which held when, in the order of time, without gaps, at most a few hundred. */
  timeline: CauseSpan[];
  /** Receiver. */
  to: string;
  /** Where the capture sits. */
  vantage: Vantage;
}

/** What tables say of a flow beyond what was measured. */
export interface FlowFigures {
  /** The main cause's share of its time, 0 to 1. */
  cause_share: number;
  /** Data packets lost on either side of the capture, 0 to 1; absent without data. */
  lost?: number;
}

/** What a flow's packets are, and with that which delay it has. */
export type FlowKind = "tcp" | "datagrams" | "probe";

/** What a flow noticed from the begin of a fault until the next fault began, the flow was done or the run ended. Times are as exact as the interval of the time series. A flow that no fault touches is silent now and then too: whether the fault caused the silence is said apart. */
export interface FlowOutage {
  /** From the begin of the fault to the end of that silence, ms. Absent where the fault did not cause it; and where it did, if nothing more came. */
  back_ms?: number;
  /** The fault's name. */
  fault: string;
  /** Datagrams due in that time that did not arrive; absent of other flows. */
  lost_packets?: number;
  /** Whether the fault caused that silence: it touches the fault's time and is longer than k times the ordinary one and a sample. Of n ordinary silences and m in the fault's time, k = ln(20 m) / ln n, 1 at least: with silences of exponential length the longest of n is ln n means, and the chance that one of m is k times that is m / n^k, here some 5 %. Where less than two were ordinary it counts as caused when it is as long as the fault. */
  noticed: boolean;
  /** The longest time without a byte between two that came, ms, which touched no fault's time from its begin to its end: what the flow shows without a fault. Absent where it had none. */
  ordinary_ms?: number;
  /** The longest time without a byte, ms; one that had begun before the fault counts whole. Absent where the flow was done or had not begun, and where there are no time series. */
  silence_ms?: number;
}

/** A flow over the repeats. */
export interface FlowRepeats {
  /** Goodput, Mbit/s. */
  goodput_mbps: Estimate;
  /** Retransmissions. */
  retransmitted_packets: Estimate;
  /** Mean RTT, ms. */
  rtt_mean_ms: Estimate;
}

/** A flow's summary. */
export interface FlowResult {
  /** The flow's own time, seconds: from when its connection stood, or its first datagram was due, to when it was done or the run ended. */
  active_s: number;
  /** Kind of its application, as scenarios spell it; absent of older results. */
  app?: string;
  /** Congestion control; `udp` for datagrams. */
  cc: string;
  /** Exchanges completed, for `request` flows; pages, for `page` flows. */
  completed?: number;
  /** Seconds from the flow's start to its last byte at the receiving application; absent where it has no end, or did not come to it. */
  completion_s?: number;
  /** Payload bytes delivered in the whole run, of the direction that `goodput_mbps` is of. */
  delivered_bytes: number;
  /** Sending host. */
  from: string;
  /** Payload delivered to the receiving application in the measured interval of the variant (`VariantResult::measured_s`), Mbit/s; of requests and answers, of those that are larger. */
  goodput_mbps: number;
  /** What its packets are; absent of older results, of which it is worked out. */
  kind: FlowKind;
  /** The rate of the tightest limit on this flow's way, Mbit/s; absent as in `VariantResult::limit_mbps`. */
  limit_mbps?: number;
  /** Data packets the path dropped, where that is known. */
  lost_packets?: number;
  /** Payload bytes of a full segment; absent for datagrams and where it is not known. */
  mss_bytes?: number;
  /** Its name. */
  name: string;
  /** What it noticed of each fault, in the order of `VariantResult::faults`. */
  outages?: FlowOutage[];
  /** Times of whole pages, for `page` flows. */
  page_s?: TimesSummary;
  /** What a call would hear, for datagram flows. */
  real_time?: RealTime;
  /** Means and intervals, when the variant was run more than once. */
  repeats?: FlowRepeats;
  /** Times from request to last byte of the answer, for `request` and `page` flows. */
  response_s?: TimesSummary;
  /** Retransmissions among `sent_packets`. */
  retransmitted_packets: number;
  /** The same over ACKs, each sample once, to be compared with a capture's. Absent as above. */
  rtt_acks_ms?: RttSummary;
  /** Round-trip times of TCP over time: a sample stands for the time since the one before, so that slow times, which have few ACKs, count for as long as they last. Absent without a sample, and of datagrams, whose delay is in `real_time`. */
  rtt_ms?: RttSummary;
  /** Data packets sent, retransmissions included. */
  sent_packets: number;
  /** How long it was in each state, longest first; of the first connection where there are relays, as the time series show it. Absent without time series and for datagrams. */
  states?: StateTime[];
  /** Share of the flow's time, 0 to 1, in which nothing moved until a retransmission timeout fired; absent as `states`. */
  timeout_wait?: number;
  /** Retransmission timeouts. */
  timeouts: number;
  /** Receiving host. */
  to: string;
  /** It has an end and did not come to it. */
  unfinished?: boolean;
}

/** A flow's columns. */
export interface FlowSeries {
  /** By name. */
  columns: Record<string, PageColumn>;
  /** The flow's name. */
  name: string;
  /** What was sent again: `time_s`, `byte`, `len`. */
  resent: Record<string, PageColumn>;
  /** What was asked for and came: `start_s`, `seconds`, and `page`, 1 where it is a whole page. */
  responses: Record<string, PageColumn>;
  /** Names of the states that the column `state` counts. */
  states: string[];
}

/** What a comparison of variants is about: which of two results is the better one. */
export type Goal = "goodput" | "p95 delay" | "completion time" | "page time" | "fairness";

/** A row of the table of goals, in words. */
export interface GoalRow {
  /** The baseline's value with its unit; empty where nothing was measured. */
  baseline: string;
  /** The best variant; empty where the baseline is. */
  best: string;
  /** What else changes with it; empty where nothing does to speak of. */
  costs: string;
  /** The goal. */
  goal: string;
  /** Its value with its unit; empty as above. */
  value: string;
}

/** What flows are put together by. */
export type GroupBy = "cc" | "from" | "direction" | "name";

/** Flows of a variant that have something in common. */
export interface GroupFigures {
  /** Of them together. */
  figures: Figures;
  /** Their places in the variant. */
  members: number[];
  /** What they have in common. */
  name: string;
}

/** A guess with its confidence. */
export interface Guess {
  /** 0 to 1; 0 of `other`: no opinion. */
  confidence: number;
  /** `cubic`, `reno`, `bbr`, `vegas`, `westwood` or `other`. */
  name: string;
}

/** Something that holds the flows: without its effect the goal is met better. */
export interface Holder {
  /** Further places of the kind that were switched off together with it, where none alone explains anything. */
  also?: string[];
  /** What the stage carries; absent where the place is not a stage. */
  carries?: Carried;
  /** What the stage dropped; absent where it dropped nothing, and where the place is not a stage. */
  drops?: HolderDrops;
  /** The first goal's number, then those of the other goals, then goodput, round trips and delays. Of the scenario's own seed; of a variant with repeats means over `runs`. */
  effects: HolderEffect[];
  /** The flow that it holds, where flows were measured one at a time. Else, where flows share no direction of a link with others, the first of those that it holds: gains and effects are of these. */
  flow?: string;
  /** How many times better the first goal is met without it: goodput 4 instead of 1 Mbit/s and a delay of 20 instead of 80 ms are both 4. The geometric mean over `runs`; a million at most, and less than 1 kbit/s counts as that. */
  gain: number;
  /** What kind it is. */
  kind: HolderKind;
  /** The smallest gain of all runs. */
  least_gain: number;
  /** Where it is: a stage (`link.direction.stage`), a host, a flow, a relay or a fault. */
  place: string;
  /** The rate of the stage, Mbit/s; of a `rate` holder only. */
  rate_mbps?: number;
  /** How many pairs of runs, each with a seed of its own, were compared. */
  runs: number;
  /** How long a flow got nothing; of outages, faults, handovers and packets that are too big only, and absent where each pause was shorter than a retransmission timeout of Linux (200 ms). */
  silence?: HolderSilence;
  /** How much of the scenario was simulated to find it, s; absent where that is all of it. */
  simulated_s?: number;
}

/** Packets that a stage dropped in the run that is compared. */
export interface HolderDrops {
  /** How many loss events they are: drops that follow each other within a round trip are one (RFC 5348 section 5.2), so that a full queue's burst counts once. Round trips are the shortest of the run's; where `sample` is longer, or `measure` is set, drops within one sample are one event. */
  events: number;
  /** How many packets. */
  packets: number;
}

/** A number with and without the suspect's effect. */
export interface HolderEffect {
  /** Which number, as `--expect` spells it: `tcp.goodput`, `rtt.p95`. */
  measure: string;
  /** Its unit: `Mbit/s`, `ms`, `s`; empty for indexes. */
  unit?: string;
  /** The number as the scenario is, simulated. Absent where it is infinite, as the time of a transfer that did not end. */
  with?: number;
  /** The number without the suspect's effect. Absent as above. */
  without?: number;
}

/** What a flow can be held by. */
export type HolderKind = "loss" | "outage" | "fault" | "handover" | "radio-errors" | "policer" | "mtu" | "reordering" | "duplication" | "jitter" | "queue-limit" | "standing-queue" | "receive-window" | "send-buffer" | "buffers" | "relay-buffer" | "sack" | "pacing-cap" | "application" | "rate" | "competing-flow" | "slow-start" | "congestion-control";

/** How holders were looked for. */
export interface HolderSearch {
  /** Suspects that the budget left no run for. */
  left_out?: TriedSuspect[];
  /** The measure that gains are of, as `HolderEffect::measure`. */
  measure?: string;
  /** How many runs were simulated for it. */
  runs: number;
  /** The measure as that part of the scenario yields it; absent where all of it was simulated. */
  simulated?: number;
  /** How much of the scenario was simulated, s; absent where that is all of it. */
  simulated_s?: number;
  /** Their work: the sum over packets of the stages that each passed. The budget is a number of runs and of this. */
  stage_packets: number;
  /** Suspects whose removal was simulated, the largest gain first. */
  tried?: TriedSuspect[];
  /** Why nothing could be looked for; absent where something was. */
  unknown?: string;
}

/** Time in which a flow that always had something to send got nothing, in the run that is compared. */
export interface HolderSilence {
  /** How long the flow lasted, s. */
  active_s: number;
  /** The flow that got nothing for longest. */
  flow: string;
  /** All stretches of 200 ms and more without a byte, s. */
  silent_s: number;
}

/** A language of the table. */
export type Lang = "en" | "zh";

/** A part of the time. */
export interface LatePart {
  /** Packets sent in it that arrived. */
  arrived: number;
  /** Where it begins, seconds since the capture began. */
  from_s: number;
  /** Packets with payload sent in it that were lost. */
  lost: number;
  /** Most, ms. */
  max_ms: number;
  /** Mean of how much longer than at least they took, ms. */
  mean_ms: number;
}

/** How much longer than at least packets took, ms; zeros where none arrived. */
export interface LateSummary {
  /** Most. */
  max: number;
  /** Mean. */
  mean: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
}

/** A rate limit found. */
export interface Limiter {
  /** The law by which its queue drops before it is full; told where losses came when that foretells them, and waits are known. */
  aqm?: Aqm;
  /** Between sender and capture (`true`) or behind the capture. */
  before_capture: boolean;
  /** Bucket (for a policer and a shaper), bytes; absent where the capture does not show it, as when the bucket never ran from full to empty. */
  burst_bytes?: number;
  /** How sure, 0 to 1. */
  confidence: number;
  /** Each flow has a queue of its own before it, and all are served alike; told of a link that several flows fill, where the capture is before it. */
  fair_queue?: boolean;
  /** Numbers (`id`) of the flows through it. */
  flows: number[];
  /** What kind. */
  kind: LimiterKind;
  /** Share of the packets it dropped, 0 to 1. */
  lost_share: number;
  /** Longest queue seen before it, bytes (for shaper and bottleneck). */
  queue_bytes?: number;
  /** The same as delay, ms. */
  queue_ms?: number;
  /** Rate of IP bytes, Mbit/s. */
  rate_mbps: number;
  /** Least and greatest rate that explain the losses as well, Mbit/s, where they do not tell it closer: as where a small bucket fills up between bursts. `rate_mbps` is one of these. */
  rate_range_mbps?: [number, number];
  /** Who takes its rate where several flows share it, by the congestion control that they seem to use; the most first. */
  takers?: LinkTakers[];
}

/** What kind of limiter. */
export type LimiterKind = "policer" | "shaper" | "bottleneck";

/** Flows with the same congestion control, as it seems, at a limiter. */
export interface LinkTakers {
  /** As in `Guess`; `other` where it cannot be told. */
  cc: string;
  /** How many flows. */
  flows: number;
  /** Payload of all of them from the begin of the first flow at the limiter to the end of the last, Mbit/s. */
  mbps: number;
  /** The same as a share of what all flows at the limiter carried, 0 to 1. */
  share: number;
}

/** A packet that was lost. */
export interface LostBetween {
  /** It had been sent before. */
  again: boolean;
  /** When it passed the capture on its sender's side, seconds since the first capture began. */
  at_s: number;
  /** Its payload that was lost, bytes. */
  bytes: number;
  /** Its sequence number, as it stands in the packet. */
  seq: number;
}

/** What was measured of a flow. */
export interface Measures {
  /** ACKs. */
  acks: number;
  /** Bandwidth-delay product: greatest delivery rate times least RTT, bytes. */
  bdp_bytes: number;
  /** Payload bytes acknowledged (or seen, where no ACKs are). */
  bytes: number;
  /** Data packets marked before the capture (CE). */
  ce: number;
  /** Data packets on the wire. */
  data_packets: number;
  /** Duplicate ACKs. */
  dup_acks: number;
  /** ACKs that echo a mark. */
  ece: number;
  /** Both ends agreed on ECN. */
  ecn: boolean;
  /** Of them in fast recovery. */
  fast: number;
  /** Packets that came in IP fragments, or in a tunnel's packet that did. */
  fragmented_packets: number;
  /** Their fragments. */
  fragments: number;
  /** Payload acknowledged over the flow's time, Mbit/s. */
  goodput_mbps: number;
  /** RTT of the handshake, ms. */
  handshake_rtt_ms?: number;
  /** Seconds that they waited, and those before them for their ACK. */
  held_s: number;
  /** Small segments that waited until all before them was acknowledged, which the receiver delayed. */
  held_segments: number;
  /** ICMP messages that said that a packet was too big (RFC 1191, RFC 8201), of those counted there. */
  icmp_too_big: number;
  /** Seconds with nothing outstanding. */
  idle_s: number;
  /** Bytes of the largest burst back to back. */
  largest_burst_bytes: number;
  /** Packets lost behind it. */
  lost_down: number;
  /** Packets lost before the capture. */
  lost_up: number;
  /** Greatest delivery rate over a round trip, payload, Mbit/s. */
  max_delivery_mbps: number;
  /** Most bytes in flight. */
  max_inflight_bytes: number;
  /** Greatest receive window seen, bytes; absent where its scale is not known. */
  max_window_bytes?: number;
  /** Mean of bursts, bytes. */
  mean_burst_bytes: number;
  /** Mean of each bin's most, bytes. */
  mean_inflight_bytes: number;
  /** Share of the payload that the capture lacks, 0 to 1; absent where it lacks none. Above 0.07 no cause is named. */
  missing_share?: number;
  /** Payload of a full segment before it fell in the midst of the connection; absent where it did not. */
  mss_before_bytes?: number;
  /** Payload bytes of a full segment. */
  mss_bytes: number;
  /** The largest IP packet that the path carries, bytes, as ICMP said, as the size shows that full segments fell to, or (to 8 bytes) as fragments show; absent where none did. */
  path_mtu_bytes?: number;
  /** Packets reordered before the capture. */
  reordered: number;
  /** The most by which one was late, ms. */
  reordered_by_ms: number;
  /** Retransmitted packets. */
  retransmitted_packets: number;
  /** After a timeout. */
  rto: number;
  /** RTT of data, end to end. */
  rtt_ms: RttSummary;
  /** Seconds in which nothing passed either way although data was outstanding. */
  silence_s: number;
  /** Needless. */
  spurious: number;
  /** Seconds waiting for timeouts. */
  timeout_s: number;
  /** Timeouts. */
  timeouts: number;
  /** Tail loss probes. */
  tlp: number;
  /** Full segments lost again and again while small ones passed. */
  too_big: number;
  /** Of these packets those of which some fragments never came. */
  torn_packets: number;
  /** Both ends offered window scaling; absent where no SYN was seen. */
  window_scaling?: boolean;
  /** Times the window closed. */
  zero_windows: number;
}

/** A delay of the emulator's own, ms. */
export interface OwnDelay {
  /** Longest. */
  max: number;
  /** Median. */
  p50: number;
  /** 99 % of the packets waited no longer. */
  p99: number;
}

/** Packets of the capture that show something. */
export interface PacketProof {
  /** Which cause they show; absent where they show something else, which `kind` says. */
  cause?: Cause;
  /** A display filter of Wireshark and tshark (`-Y`) that shows them. */
  filter: string;
  /** What they are. */
  kind: ProofKind;
  /** Numbers of a few of them: the record's place in the file, from 1, as Wireshark's `frame.number`; of several files read as one, as if they were one. */
  packets: number[];
  /** How many there are. */
  total: number;
}

/** Where a flow's columns are in its blob. */
export interface Packets {
  /** ACKs: `time_s`, `acked_bytes`, `edge_bytes` (how far the window reaches), `window_bytes`, `rtt_ms`. */
  acked: EncodedTable;
  /** Sent again, or late: `time_s`, `byte`, `len`, `kind` (index into `KINDS`). */
  again: EncodedTable;
  /** Id of the script element. */
  blob: string;
  /** Inflated. */
  bytes: number;
  /** One of so many packets is here. */
  every: number;
  /** The same of what was sent again. */
  every_again: number;
  /** The first ones are not. */
  late: boolean;
  /** Data: `time_s`, `sent_bytes` (all up to here), `inflight_bytes`. */
  sent: EncodedTable;
}

/** The data of the page of results. */
export interface Page {
  /** How everything was run. */
  facts: Facts;
  /** `longfat-report/1`. */
  format: string;
  /** The language to open in. */
  lang: Lang;
  /** Version of longfat. */
  longfat: string;
  /** Results in the order they were given. */
  results: Result[];
  /** The sentence on top. */
  story: PageStory;
}

/** Where a column is in the inflated blob, and how to read it. */
export interface PageColumn {
  /** Its first byte. */
  at: number;
  /** Some values are null. */
  nulls?: boolean;
  /** What is stored: differences (1), or differences of differences (2). */
  order: number;
  /** A value is an integer divided by this. */
  per: number;
  /** How many values. */
  rows: number;
}

/** The sentence on top. */
export interface PageStory {
  /** The variants it is about, the baseline first, as result and variant. */
  about: ([number, number])[];
  /** English. */
  en: string;
  /** What the sentence rests on and what its advice costs, a line each. */
  facts: { en: string[]; zh: string[]; };
  /** What helps, where the variants are judged by several goals; else the sentence says it. */
  goals: { en: GoalRow[]; zh: GoalRow[]; };
  /** Chinese. */
  zh: string;
}

/** What is said of a group of flows. */
export interface PageTold {
  /** Their main cause. */
  cause?: string;
  /** The evidence, a short line each. */
  facts: string[];
  /** Numbers of the flows it is about; none of the sentence on the rest. */
  flows: number[];
  /** A sentence or two. */
  text: string;
}

/** A link: two hosts and what packets meet between them. */
export interface PathLink {
  /** From the second to the first, in the order packets meet them. */
  backward: PathStage[];
  /** Two hosts' names. */
  between: [string, string];
  /** From the first to the second, in the order packets meet them. */
  forward: PathStage[];
  /** Its name; `name.forward.stage` is an element's. */
  name: string;
}

/** A split-TCP relay and where it runs. */
export interface PathRelay {
  /** A host's name. */
  host: string;
  /** Its name. */
  name: string;
}

/** What packets meet at one place of a link. */
export interface PathStage {
  /** The scenario does not have it: where nothing on a path takes time the simulator assumes a network card. */
  assumed?: boolean;
  /** `policer`, `shaper`, `link` …. */
  kind: string;
  /** Unique in its direction of its link. */
  name: string;
  /** What the scenario says of it beyond its kind's defaults, spelt as there: `rate` is `20Mbit/s`, `queue.packets` is `200`. */
  settings?: Record<string, string>;
}

/** What commands are written for. */
export type Platform = "linux" | "networkd" | "application" | "longfat" | "nginx" | "haproxy" | "cni" | "cisco-ios" | "cisco-ios-xe";

/** What packets have to do with what they show. */
export type ProofKind = "lost" | "waited" | "pauses" | "zero-windows" | "held" | "setup" | "resets" | "response";

/** An endpoint's own account of its congestion control. */
export interface QlogAccount {
  /** Packets that say their sender is out of flow control credit (DATA_BLOCKED, STREAM_DATA_BLOCKED; RFC 9000 section 19.12). */
  blocked_packets: number;
  /** How often the congestion window was cut by a tenth or more at once (Reno halves it, CUBIC takes three tenths: RFC 9002 section 7.3.2, RFC 9438 section 4.6). */
  cuts: number;
  /** The longest. */
  max_ack_delay_ms?: number;
  /** The largest. */
  max_cwnd_bytes: number;
  /** The most bytes in flight that the log states; absent where it states none. */
  max_inflight_bytes?: number;
  /** Congestion window and bytes in flight over time; of more than two thousand the least and the greatest window of each part. */
  metrics: QlogPoint[];
  /** The smallest congestion window that the log states, bytes. */
  min_cwnd_bytes: number;
  /** The median delay that the peer's ACK frames state, ms; absent where the log has none. */
  p50_ack_delay_ms?: number;
  /** The median over time. */
  p50_cwnd_bytes: number;
  /** Probe timeouts that expired (RFC 9002 section 6.2), as far as the log states them. */
  probe_timeouts: number;
  /** How often its state became one of recovery. */
  recoveries: number;
  /** The states of its congestion control, from when on; the first thousand. */
  states: QlogStateSpan[];
  /** Share of the time in which bytes in flight were nine tenths of the congestion window or more; absent where the log lacks one of them. */
  window_full_share?: number;
}

/** A moment of it. */
export interface QlogPoint {
  /** Seconds since the capture, or the first qlog, began. */
  at_s: number;
  /** Congestion window, bytes. */
  cwnd_bytes: number;
  /** Bytes in flight. */
  inflight_bytes?: number;
  /** Smoothed RTT, ms. */
  srtt_ms?: number;
  /** Slow start threshold, bytes; absent before there is one. */
  ssthresh_bytes?: number;
}

/** A state that held from a moment on. */
export interface QlogStateSpan {
  /** Seconds since the capture, or the first qlog, began. */
  at_s: number;
  /** As the implementation calls it. */
  name: string;
}

/** What QUIC shows without its keys. */
export interface QuicFacts {
  /** Connection ID that the client's first Initial is for, hexadecimal. */
  destination_id: string;
  /** This direction is the client's. */
  from_client: boolean;
  /** RTT of the handshake, ms, what the ends take to answer among it (RFC 9312 section 3.8.1); absent where a packet of it was sent again or is not in the capture. */
  handshake_rtt_ms?: number;
  /** The server asked for another Initial, or named other versions. */
  retried: boolean;
  /** Connection ID that the client chose, hexadecimal. */
  source_id: string;
  /** What the spin bit does (RFC 9000 section 17.4). */
  spin: SpinBit;
  /** The part of it between capture and client. */
  to_client_ms?: number;
  /** The part of it between capture and server. */
  to_server_ms?: number;
  /** Version, hexadecimal: `1` (RFC 9000), `6b3343cf` (version 2, RFC 9369) …. */
  version: string;
}

/** What datagrams met on their way, as a receiver that plays them out sees it. A packet that did not arrive is lost if a later one did or the path dropped it; what was under way when the run ended is not counted. Copies are passed over. */
export interface RealTime {
  /** One-way delay; for probes there and back. */
  delay_ms: RttSummary;
  /** The jitter buffer in force, ms, for `voice` flows: the scenario's `jitter_buffer`, else 60. It is fixed; one that adapts, as most phones have, would trade lateness for delay. */
  jitter_buffer_ms?: number;
  /** Interarrival jitter J (RFC 3550 section 6.4.1), its mean over all packets but the first, ms. */
  jitter_ms: number;
  /** Share of packets that came too late to be played, 0 to 1, for `voice` flows: after the fastest packet's delay and the jitter buffer. */
  late?: number;
  /** Packets in such a run, most. */
  loss_burst_max: number;
  /** Packets in such a run, mean. */
  loss_burst_mean: number;
  /** Runs of lost packets, in the order they were sent. */
  loss_bursts: number;
  /** Share of packets that did not arrive, 0 to 1. */
  lost: number;
  /** Mean opinion score that follows from it (G.107 annex B), 1 to 4.5. */
  mos?: number;
  /** Transmission rating R of the E-model (ITU-T G.107), for `voice` flows; packets that are lost or late are what it counts as loss, and codec, fastest packet and jitter buffer together are its delay. Absent where the codec is not in ITU-T G.113. */
  r_factor?: number;
}

/** A variant over its repeats, each with a seed of its own. */
export interface Repeats {
  /** Every repeat yielded the same numbers, as nothing in them was random: the intervals, of width 0, say nothing. */
  identical?: boolean;
  /** Jain's fairness index; absent as `VariantResult::jain_index`. */
  jain_index?: Estimate;
  /** How many. */
  n: number;
  /** Retransmissions of all flows. */
  retransmitted_packets: Estimate;
  /** Mean round trip of the TCP flow whose mean is largest in each repeat, ms; absent without TCP. */
  rtt_mean_ms?: Estimate;
  /** The seeds, in the order of the repeats. */
  seeds: number[];
  /** Sum of the flows' goodputs, Mbit/s. */
  total_goodput_mbps: Estimate;
  /** What each repeat yielded, in the order of `seeds`, by the name of the measure: `goodput`, `rtt.p95`, `tcp.lost`, `upload.rtt.mean`. A measure is absent where a repeat has no value of it; of more than 16 flows only those of all together are kept. Two variants are compared by the differences of the same seed. */
  values: Record<string, number[]>;
}

/** How long a server took to answer: from the last byte of a request to the first of its response. */
export interface ResponseTimes {
  /** Requests that were answered, but for those of which something was sent again, or that came while a response was on its way. */
  exchanges: number;
  /** The network's part, from client to server and back, ms: the RTT of the handshake, or else the least of the data's. */
  network_ms?: number;
  /** The server's part, ms: what is left of the time at the capture without the least that the way from there to the server and back takes. */
  server_ms: RttSummary;
  /** The server's parts added up, seconds. */
  server_s: number;
  /** The same as a share of the flow's time, 0 to 1. */
  share: number;
}

/** A result on the page. */
export interface Result {
  /** What tables say of each variant, in the order of `run.variants`. */
  figures: VariantFigures[];
  /** What to call it beside others. */
  label: string;
  /** The summary. */
  run: Run;
  /** Each variant's series, in that order; null where nothing was sampled. */
  series: (SeriesDirectory | null)[];
  /** The run's warnings, in its order. */
  warnings: { en: string; zh: string; }[];
}

/** The timeline: from each moment on a cause holds; the last moment is the end. */
export interface Ribbon {
  /** Seconds. */
  at: number[];
  /** Index into `causes`. */
  cause: number[];
}

/** What RTP shows (RFC 3550): of the source with most packets. */
export interface RtpFacts {
  /** Ticks a second of its timestamps, where they are those of a known clock. */
  clock_hz?: number;
  /** Packets that came twice. */
  duplicates: number;
  /** Interarrival jitter at the end, ms (RFC 3550 section 6.4.1), where the clock is known. */
  jitter_ms?: number;
  /** Packets that never came: lost between sender and capture. */
  lost: number;
  /** The most that it was, ms. */
  max_jitter_ms?: number;
  /** Packets of it. */
  packets: number;
  /** Payload type. */
  payload_type: number;
  /** Packets that came after a later one. */
  reordered: number;
  /** Synchronisation source. */
  ssrc: number;
}

/** Round trips or delays, milliseconds; all zero without a sample (`RttSummary::is_empty`). */
export interface RttSummary {
  /** Largest. */
  max: number;
  /** Mean. */
  mean: number;
  /** Smallest. */
  min: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
}

/** One run of a scenario: every variant, each with its flows and elements. With repeats (`--repeat N`) the numbers of variants, flows and elements are means over the repeats, counts rounded to the nearest whole one. So are percentiles: a p95 is the mean of the repeats' 95th percentiles, what a user has to expect of one run, and not the 95th percentile of all their samples together. What is a minimum or a maximum (`rtt_ms.min`, `rtt_ms.max`, `delay_ms.max`, `max_queue_packets`) is the one of all repeats. Intervals are in `VariantResult::repeats` and `FlowResult::repeats`. */
export interface Run {
  /** The variant that the others are compared with. */
  baseline?: string;
  /** What the scenario says it is about. */
  description?: string;
  /** What was expected of this run (`--expect`), and whether it came so. */
  expectations?: Expectation[];
  /** What the headline rests on and what its advice costs, in English: each a sentence with its numbers. */
  facts?: string[];
  /** What the variants are judged by, the most important first. */
  goals?: Goal[];
  /** What is wrong and what to do, in English, in some twenty words; absent where there is no flow. */
  headline?: string;
  /** Not all that was asked for was run: a run failed or was ended. */
  partial?: boolean;
  /** What tells this run from others, 32 hexadecimal digits that follow from program, scenario, settings and outcome: every file of a result has it. Absent in results of older versions. */
  run_id?: string;
  /** The scenario's name. */
  scenario: string;
  /** What this is, and its version. */
  schema: "longfat-result/1";
  /** The first repeat's seed. */
  seed: number;
  /** Variants in the scenario's order. Where a variant was run on both clocks it is here twice, the simulator's first. */
  variants: VariantResult[];
  /** The same warnings as data, in the same order; absent in older results. */
  warned?: RunWarning[];
  /** What of the scenario is probably not meant, and what makes numbers of this run doubtful. */
  warnings?: string[];
}

/** A warning as data: what kind, of what, and what of it is told. */
export interface RunWarning {
  /** The key of the scenario that it is about, as `--set` takes it; absent where it is about none. */
  key?: string;
  /** What kind it is: `small-bucket`, `unlimited` …; `trust`: a measurement on the kernel (`VariantResult::trust` says why). */
  kind: string;
  /** What of it is told, by name. */
  values?: Record<string, string>;
  /** The variants that it holds for; absent where it holds for all. */
  variants?: string[];
}

/** Bands of one flow or element, by the column they are of: goodput in Mbit/s is `delivered_bytes`. */
export interface SeriesBands {
  /** The bands. */
  bands: Record<string, Band>;
  /** Its name. */
  name: string;
}

/** The directory of one variant's series; the bytes are elsewhere, under `blob`. */
export interface SeriesDirectory {
  /** Over the repeats, where there are several that differ. */
  bands?: Bands;
  /** Id of the script element that holds the columns. */
  blob: string;
  /** Inflated. */
  bytes: number;
  /** Of elements. */
  elements: ElementSeries[];
  /** Of flows. */
  flows: FlowSeries[];
}

/** A key of the scenario and its value. */
export interface Setting {
  /** The key, of tables within with a dot: `stack.mss`. */
  key: string;
  /** Whose it is; absent for keys of the run. */
  name?: string;
  /** The table that it stands in: `hosts`, `links`, `relays`, `flows`; absent for keys of the run. */
  section?: string;
  /** The value, spelt as there; names in a list are joined by commas. */
  value: string;
}

/** How setting up a connection ended in vain. */
export type SetupEnd = "unanswered" | "refused" | "unreachable" | "unfinished";

/** The kernel's own account of the sender's socket (`TCP_INFO`); what a kernel does not count is absent. */
export interface SocketAccount {
  /** Share of the samples in which the application had written less than could be sent, 0 to 1. */
  app_limited_share?: number;
  /** Of `busy_s`, seconds in which the send buffer was full and all in it was sent. */
  buffer_limited_s?: number;
  /** Of that time, seconds in which data was outstanding. */
  busy_s?: number;
  /** Congestion window at the end, segments. */
  cwnd_packets?: number;
  /** Greatest delivery rate of the samples, Mbit/s. */
  delivery_rate_mbps?: number;
  /** Least RTT, ms. */
  min_rtt_ms?: number;
  /** How long the socket was watched, seconds. */
  observed_s: number;
  /** Rate at which the kernel paced at the end, Mbit/s of payload and headers. */
  pacing_rate_mbps?: number;
  /** Segments sent again since the connection began. */
  retransmitted_packets?: number;
  /** How often it was looked at. */
  samples: number;
  /** Bytes that the send buffer may hold. */
  send_buffer_bytes?: number;
  /** Of `busy_s`, seconds in which the receiver's window had no room for more. */
  window_limited_s?: number;
}

/** What the spin bit does. */
export type SpinBit = "unknown" | "spins" | "disabled";

/** What one stage of the path did, over all runs of a variant. */
export interface StageFigures {
  /** The same as a share of what came, 0 to 1. */
  drop_share: number;
  /** Packets dropped. */
  dropped: number;
  /** The longest queue, packets. */
  max_queue: number;
  /** Dropped more than any other stage. */
  worst: boolean;
}

/** A state of the congestion control and how much of the flow's time it took. */
export interface StateTime {
  /** How many times it was entered. */
  entered: number;
  /** Share of the flow's time, 0 to 1. */
  share: number;
  /** As in `FlowSeries::states`. */
  state: string;
}

/** Durations of several transfers, exchanges or pages, seconds. */
export interface TimesSummary {
  /** How many came to their end. */
  count: number;
  /** Longest. */
  max: number;
  /** Mean of those that did, as all that follows. */
  mean: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
  /** How many had begun and did not come to their end. */
  unfinished: number;
}

/** Packets that did not fit. */
export interface TooBigPackets {
  /** The largest that did not. */
  largest_bytes: number;
  /** The largest IP packet that fits, bytes, as it comes: without the headers that a tunnel adds. */
  mtu_bytes: number;
  /** Their senders were told (ICMP "fragmentation needed", RFC 1191); if not, this is a black hole (RFC 2923). */
  told: boolean;
}

/** Hosts and the links between them. */
export interface Topology {
  /** Hosts' names, in the scenario's order. */
  hosts: string[];
  /** Links, in the scenario's order. */
  links: PathLink[];
  /** Split-TCP relays. */
  relays?: PathRelay[];
}

/** A suspect, and what its removal gained. */
export interface TriedSuspect {
  /** As `Holder::also`. */
  also?: string[];
  /** As `Holder::flow`. */
  flow?: string;
  /** As `Holder::gain`, of the first seed; below 1 the goal is met worse without it. Absent where it was left out. */
  gain?: number;
  /** What kind it is. */
  kind: HolderKind;
  /** Where it is, as in `Holder::place`. */
  place: string;
}

/** What is known of a measurement's quality. */
export interface Trust {
  /** From when a host got TCP data until it next sent a packet, where more came meanwhile than it may take in as one (64 kB); otherwise 0. Who reads late opens the window late, and the ACKs of a burst come when it is over (`__tcp_ack_snd_check`). */
  acks_held_ms: OwnDelay;
  /** From when a flow was due until its host's program began it, of the flow that waited longest. */
  begun_late_ms: number;
  /** Packets that a bucket or a full queue dropped after the emulator had held them up for longer than it holds at its rate. */
  bunched_packets: number;
  /** Components of the run that died while it was measured, in the order in which they were found dead. The numbers are then not those of the scenario. */
  died?: DeadComponent[];
  /** CPU time of the emulator over the run's time, 0 to 1. */
  engine_cpu: number;
  /** How long a host's program waited for a CPU each time it had something to do, in the mean, of the host that waited longest; absent where the system does not say. */
  hosts_wait_ms?: number;
  /** The share of the machine's CPU time that nobody used, 0 to 1; absent where the system does not say. */
  idle?: number;
  /** Packets that the kernel's own queues lost while the run was measured: devices, sockets of datagrams, refused deliveries. */
  kernel_lost_packets: number;
  /** From when a packet was due at the end of its link until it was delivered. */
  lateness_ms: OwnDelay;
  /** Packets that hosts sent into the path or lost before they entered it: what `kernel_lost_packets` is a share of. */
  offered_packets: number;
  /** Whether the emulator ran with real-time priority. */
  real_time: boolean;
  /** What tells against it. */
  reasons: TrustReason[];
  /** Nothing tells against it. */
  reliable: boolean;
  /** The share of CPU time that the hypervisor gave to others, 0 to 1; absent where the system does not say. */
  steal?: number;
  /** How much longer datagrams took, in the median, than the slowest took through all elements of their way; absent without datagrams. */
  unexplained_ms?: number;
  /** From when a host sent a packet until the emulator took it: at most so long. */
  waiting_ms: OwnDelay;
}

/** What tells against a measurement. */
export type TrustKind = "late" | "late-tail" | "unexplained" | "engine-busy" | "hosts-late" | "begun-late" | "acks-held" | "steal" | "kernel-loss" | "bunched" | "died";

/** A reason not to trust a measurement. */
export interface TrustReason {
  /** The bound that it is beyond. */
  bound: number;
  /** What it is. */
  kind: TrustKind;
  /** What was measured, in the unit of its kind. */
  measured: number;
}

/** What both captures say of one direction of a UDP flow, between them. `least_ms` and `late_ms` as of TCP. */
export interface UdpBetweenEnds {
  /** Datagrams that arrived. */
  arrived_packets: number;
  /** That came more than once. */
  duplicated_packets: number;
  /** By how much the delays of two datagrams differ that arrived one after the other, in the mean, ms (RFC 3550's D); absent where fewer than two arrived. */
  jitter_ms?: number;
  /** Segmentation offload joined datagrams in one of the captures: losses are not told. */
  joined_by_offload: boolean;
  /** How much longer than that datagrams took, ms (RFC 5481: packet delay variation). */
  late_ms: LateSummary;
  /** What the way took at least, ms, right to `clock_offset_error_ms`; absent where that is not known, or nothing arrived. */
  least_ms?: number;
  /** The most lost one after the other. */
  longest_loss_packets: number;
  /** When those lost passed the capture on the sender's side, seconds since the first capture began; the first thousand. */
  lost_at_s: number[];
  /** That were lost between the captures. */
  lost_packets: number;
  /** The most that RFC 3550's interarrival jitter was, ms. */
  max_jitter_ms?: number;
  /** All of it over time; parts in which nothing was sent are left out. */
  over_time: LatePart[];
  /** Datagrams that came after one that was sent later (RFC 4737). */
  reordered_packets: number;
  /** Of which it is not known: the other capture had not begun or had ended, or segmentation offload joined them in one of the captures. */
  unknown_packets: number;
}

/** What went one way between two UDP ports. */
export interface UdpFlowDiagnosis {
  /** What was lost and late between two captures of the path; absent where there is one. */
  between_ends?: UdpBetweenEnds;
  /** From the first to the last datagram, seconds. */
  duration_s: number;
  /** Sender, `address:port`. */
  from: string;
  /** Number within the UDP flows, as with TCP: even of who sent first, odd of the other. */
  id: number;
  /** IP bytes. */
  ip_bytes: number;
  /** The rate limit that it went through, where one shows. */
  limiter?: Limiter;
  /** Whether losses are known, and by what. */
  loss: UdpLoss;
  /** Packets lost, where that is known. */
  lost_packets?: number;
  /** The greatest rate over half a second, Mbit/s; absent of shorter flows. */
  max_rate_mbps?: number;
  /** The rate over time. */
  over_time: UdpRate[];
  /** Datagrams. */
  packets: number;
  /** Payload, bytes. */
  payload_bytes: number;
  /** `quic`, `rtp` or `udp`: what shows in the packets. */
  protocol: string;
  /** What QUIC's handshake shows. */
  quic?: QuicFacts;
  /** IP bytes over the duration, Mbit/s. */
  rate_mbps: number;
  /** What RTP's numbers and timestamps show. */
  rtp?: RtpFacts;
  /** RTTs by the spin bit, what the ends wait among them (RFC 9312 section 3.8.2); absent where it does not spin. */
  spin_rtt_ms?: RttSummary;
  /** First datagram, seconds since the capture began. */
  start_s: number;
  /** Receiver. */
  to: string;
}

/** Whether losses of a UDP flow are known. */
export type UdpLoss = "not-visible" | "before-capture" | "qlog" | "both-ends";

/** A part of the time. */
export interface UdpRate {
  /** Where it begins, seconds since the capture began. */
  from_s: number;
  /** Packets lost in it, where that is known for each. */
  lost_packets?: number;
  /** IP bytes in it, Mbit/s. */
  mbps: number;
  /** How long it is, seconds. */
  width_s: number;
}

/** Where in the round trip the capture sits. */
export interface Vantage {
  /** Where. */
  place: CapturePlace;
  /** Least time from the capture to the receiver and back, ms. */
  to_receiver_ms?: number;
  /** Least time from the capture to the sender and back, ms. */
  to_sender_ms?: number;
}

/** A variant's figures. */
export interface VariantFigures {
  /** Of all flows. */
  all: Figures;
  /** Of each, in the variant's order. */
  flows: Figures[];
  /** By what it is shown unasked. */
  grouped?: GroupBy;
  /** Of flows put together, by what they have in common; without a key where there would be one group. */
  groups: Record<string, GroupFigures[]>;
  /** Of each stage, by `link.direction.stage`. */
  stages: Record<string, StageFigures>;
}

/** One variant's outcome. */
export interface VariantResult {
  /** Which clock drove it. */
  clock: Clock;
  /** Times from start to last byte of those flows that have an end and came to it; absent where none has an end. */
  completion_s?: TimesSummary;
  /** Seconds simulated or measured. */
  duration_s: number;
  /** Path elements in the order packets pass them. */
  elements: ElementResult[];
  /** What went wrong on purpose, in the scenario's order; what each flow noticed of it is in `FlowResult::outages`. */
  faults?: FaultResult[];
  /** Flows in the scenario's order; a flow with a count is `name-1`, `name-2` …. */
  flows: FlowResult[];
  /** What holds its flows, the largest gain first: of the baseline, and only where a headline was wanted. Measured by simulated runs, also where the variant itself was measured on the kernel. */
  held_by?: Holder[];
  /** How that was looked for; absent where it was not. */
  holder_search?: HolderSearch;
  /** Jain's fairness index over the flows' goodputs (TCP flows only when there are any); of transfers over their sizes, each divided by its own time. Absent where equal shares are not to be expected: of a single flow, of flows measured one at a time, and where any two differ in application or size, share no direction of a link, meet other limits, or did not begin together (within a tenth of the time of the one that was there longest). */
  jain_index?: number;
  /** The rate of the tightest limit all flows together meet, Mbit/s; of a train's radio link and of a trace that repeats its mean, which a short run may exceed. Absent where there is none, or where it changes otherwise. */
  limit_mbps?: number;
  /** The interval over which every rate of this variant counts, seconds since the run began: the scenario's `measure`, else from the first start of a flow to the moment when all flows were done, or to the end of the run. Where flows were measured one at a time each rate counts over its own run's interval, and this is from the first to the last. */
  measured_s: [number, number];
  /** Its name. */
  name: string;
  /** Each flow was measured alone, in a run of its own; elements are named `element@flow`. */
  one_at_a_time?: boolean;
  /** Times of whole pages, of all flows; absent where none loads pages. */
  page_s?: TimesSummary;
  /** What the packets pass; absent where it is not known, as of a capture. */
  path?: Topology;
  /** Means and intervals, when the variant was run more than once. */
  repeats?: Repeats;
  /** Times from request to last byte of the answer, of all flows; absent where none asks. */
  response_s?: TimesSummary;
  /** What the scenario says beside the path's stages, beyond defaults; absent in older results. */
  settings?: Setting[];
  /** The part of it that TCP flows carried; absent where there is none. */
  tcp_goodput_mbps?: number;
  /** Sum of the flows' goodputs, Mbit/s. It is at most what the path carries, as all of them count over the same time; flows that were measured one at a time share none. */
  total_goodput_mbps: number;
  /** Whether the measurement can be trusted; on the kernel only. Of several runs the worst. */
  trust?: Trust;
  /** The part of it that datagrams carried; absent where there are none. */
  udp_goodput_mbps?: number;
}
