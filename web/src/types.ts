// Made of the JSON Schemas in docs/ and web/schema/ by web/types.mjs: npm run build.

/** Another cause that fits a flow. */
export interface AlternativeCause {
  /** The cause. */
  cause: Cause;
  /** Probability of the cause, 0 to 1. */
  probability: number;
}

/** Active queue management (AQM): the law by which a queue drops packets before it is full. */
export type Aqm = "codel";

/** A band: the columns `low`, `median` and `high`, with a value per bin. */
export interface Band {
  /** Columns by name. */
  columns: Record<string, PageColumn>;
}

/** The columns of median and band over the repeats, in bins of time. */
export interface Bands {
  /** The quantiles between which the bands lie; 0 and 1 are minimum and maximum. */
  between: [number, number];
  /** Width of a bin, seconds; the first bin starts with the run. */
  bin_s: number;
  /** Bands of elements. */
  elements: SeriesBands[];
  /** Bands of flows; with many flows, of those with the highest goodput. */
  flows: SeriesBands[];
  /** Number of repeats. */
  repeats: number;
  /** Goodput of all flows together, Mbit/s. */
  total?: Band;
}

/** Losses and delays of one direction of a connection between the two captures. */
export interface BetweenEnds {
  /** One-way delay above that minimum, ms: queueing in this direction alone. */
  delay_variation_ms: DelayVariation;
  /** The lost packets, at most the first thousand. */
  lost: LostBetween[];
  /** Data packets lost between the captures, wholly or (if offload segmented them later) in part. */
  lost_packets: number;
  /** Packets without payload that were lost. */
  lost_without_payload: number;
  /** Minimum one-way delay between the captures, ms, with the error of `clock_offset_error_ms`; absent where nothing arrived. */
  min_delay_ms?: number;
  /** Queueing delay and losses over time; intervals in which nothing was sent are omitted. */
  over_time: DelayVariationPart[];
  /** Packets without payload, mostly ACKs. */
  packets_without_payload: number;
  /** Payload retransmitted although an earlier transmission arrived, bytes. */
  spurious_bytes: number;
  /** Data packets of unknown fate: the other capture had not begun, had ended, or missed packets. */
  unknown_packets: number;
}

/** Two captures combined. Times and addresses in the diagnosis are those of the first. */
export interface BothEndsInfo {
  /** Error bound of `clock_drift_ppm`, plus or minus, ppm. */
  clock_drift_error_ppm: number;
  /** How much faster the second clock runs, ppm. */
  clock_drift_ppm: number;
  /** Error bound of `clock_offset_ms`, plus or minus, ms: half of the minimum RTT between the captures. The offset is exact if both directions take equally long; losses and `delay_variation_ms` do not depend on it. Absent where both captures share packets of one direction only: the offset is then unknown, and stated as if the fastest packet took no time. */
  clock_offset_error_ms?: number;
  /** How far the second capture's clock was ahead of the first's at the first packet that both have, ms. */
  clock_offset_ms: number;
  /** Packets that must have passed the first capture but are missing from it. */
  missed_first: number;
  /** Packets that must have passed the second capture but are missing from it. */
  missed_second: number;
  /** Connections in the first capture only; they are diagnosed from that capture alone. */
  only_first: number;
  /** Directions of UDP flows in the first capture only; they are diagnosed from that capture alone. */
  only_first_udp: number;
  /** Connections in the second capture only; they are not reported. */
  only_second: number;
  /** Directions of UDP flows in the second capture only; they are not reported. */
  only_second_udp: number;
  /** Name of the second capture as given. */
  other_file: string;
  /** Connections in both captures. */
  paired_connections: number;
  /** Directions of UDP flows in both captures. */
  paired_udp_flows: number;
  /** Paired connections with other addresses or ports in the second capture (NAT): matched by the sequence numbers of both SYNs. */
  translated_connections: number;
  /** Paired directions of UDP flows with other addresses or ports in the second capture (NAT): matched by payload. */
  translated_udp_flows: number;
}

/** A TCP flow: its diagnosis without the timeline, and what else the page needs. */
export interface CaptureFlow {
  /** Other causes that fit, the most probable first; empty where `confidence` is at least `SURE`. */
  alternatives?: AlternativeCause[];
  /** Losses and delays measured between two captures; absent without a second capture, or where it lacks this connection. */
  between_ends?: BetweenEnds;
  /** Main cause: the one with the largest share of the flow's time. */
  cause: Cause;
  /** All causes with their shares, the largest first. */
  causes: CauseShare[];
  /** Congestion control of the sender, as its packets suggest. */
  cc: Guess;
  /** Probability that `cause` is right, 0 to 1. */
  confidence: number;
  /** Number of the connection in the capture. */
  connection: number;
  /** Time from the first data to its last ACK, s. */
  duration_s: number;
  /** Computed figures for the tables. */
  figures: FlowFigures;
  /** Sending end, `address:port`. */
  from: string;
  /** The flow's id in the diagnosis (`FlowDiagnosis::number`); independent of the order of `flows`. */
  id: number;
  /** Index into `Diagnosis::limiters`; absent where the flow passes none that was found. */
  limiter?: number;
  /** Measurements of the flow. */
  measures: Measures;
  /** The capture that would decide between `cause` and `alternatives`; absent where `confidence` is at least `SURE`. */
  needs?: CaptureNeed;
  /** Codes of what limits the trust in the numbers: `no-handshake`, `window-scale-unknown`, `window-scale-refuted` (more data was in flight than the windows allow at that scale), `capture-missed-packets`, `one-way` (only one direction was captured), `acks-missing` (for a while no ACK was captured, although new data followed), `rtt-from-capture` (RTTs lack the path between sender and capture), `options-cut` (the snap length cut TCP options off), `no-sack`, `duplicate-records` (counted once), `few-packets` (too few for a verdict on the path), `few-loss-episodes` (the main cause lost packets at one or two moments only, too few to show it), `waits-unseen` (the queueing delay before the capture, where packets were lost, is unknown), `waits-too-short` (packets were lost in front of a link; the timestamps are too coarse to tell a short queue from chance), `pauses-ambiguous` (the application's pauses may be those of a full window), `no-packets` (known only from its socket's counters), `qlog` (from a QUIC sender's qlog), `qlog-receiver` (from a receiver's), `qlog-no-acks`, `qlog-no-cwnd`, `qlog-no-flow-control` (what that log lacks), `qlog-cut` (the log ends in the middle of an event) …. */
  notes?: string[];
  /** The packets; null except for the flows with most bytes. */
  packets: Packets | null;
  /** Packets of the capture as evidence, for each cause that took at least a hundredth of the flow's time and for other findings. */
  proofs?: PacketProof[];
  /** The sender's own qlog of its congestion control; absent where the flow is not from a sender's qlog, or where that log states no congestion window. */
  qlog?: QlogAccount;
  /** The most probable limiter where none is reported; absent where nothing suggests one. */
  rejected_limiter?: RejectedLimiter;
  /** Changes that would help, the most promising first. */
  remedies?: Change[];
  /** The reset that ended the connection; absent where there was none. */
  reset?: ConnectionReset;
  /** Times in which the sender responded to requests; absent where it received none. */
  responses?: ResponseTimes;
  /** The timeline of the causes. */
  ribbon: Ribbon;
  /** Connection setup; absent where one SYN and one SYN/ACK sufficed. */
  setup?: ConnectionSetup;
  /** Counters that the sending host's kernel kept of the flow's socket; absent where the socket was not watched. */
  socket?: SocketAccount;
  /** First packet, seconds since the capture began. */
  start_s: number;
  /** Receiving end, `address:port`. */
  to: string;
  /** Position of the capture on the flow's path. */
  vantage: Vantage;
}

/** A capture as a whole. */
export interface CaptureInfo {
  /** Number of TCP packets with a time earlier than the packet before: records out of order, a clock that was set back, or files joined in the wrong order. Packets are sorted, and time continues where the clock was set back. Absent: 0. */
  backward_times?: number;
  /** A second capture, taken at the other end, that was combined with this one; absent where there is none. */
  both_ends?: BothEndsInfo;
  /** TCP connections. */
  connections: number;
  /** Where and why reading ended early; everything before that place was read. Absent where the file is whole. */
  damage?: Damage;
  /** Packets that the capturing program reports as dropped; absent where the file does not say. */
  dropped?: number;
  /** Records that the file holds twice. */
  duplicate_records: number;
  /** Time from the first to the last record, s. */
  duration_s: number;
  /** The file's name as given; `-` for standard input. */
  file: string;
  /** Format and compression: `pcap`, `pcapng`, `pcap (zstd)` …. */
  format: string;
  /** Number of times that the capture's clock was set forward, as shown by the senders' TCP timestamps or by a silence longer than any connection survives. The skipped time does not count. Absent: 0. */
  forward_jumps?: number;
  /** IP fragments other than the first of a packet; they carry no TCP header. */
  fragments: number;
  /** Link layers of the capture's interfaces: `ethernet`, `raw-ip`, `linux-cooked-v2` …. */
  links: string[];
  /** Largest such step back, s; absent where there is none. */
  max_backward_s?: number;
  /** Largest such step forward, s; absent where there is none. */
  max_forward_s?: number;
  /** Payload bytes that were acknowledged but are not in the capture. */
  missed_bytes: number;
  /** Number of directions of TCP connections that `flows` omits; those with most bytes are kept. Absent: 0. */
  omitted_flows?: number;
  /** Number of directions of UDP flows that `udp_flows` omits; those with most bytes are kept. Absent: 0. */
  omitted_udp_flows?: number;
  /** Records that hold neither TCP nor UDP, by reason (`arp`, `icmp`, `cut before TCP`, `bad header` …). */
  other?: Counted[];
  /** Records read. */
  packets: number;
  /** Time of the first record, seconds since 1970. */
  start_s: number;
  /** Records with TCP. */
  tcp_packets: number;
  /** Packets found inside tunnels and encapsulations, by kind (`gre`, `vxlan`, `esp-in-udp` …). */
  tunnels?: Counted[];
  /** Records with UDP. */
  udp_packets: number;
  /** Length of all packets on the wire, bytes. */
  wire_bytes: number;
}

/** What a new capture needs to decide between causes. */
export type CaptureNeed = "packets" | "every-packet" | "both-directions" | "whole-headers" | "from-the-syn" | "longer" | "at-the-sender" | "at-the-receiver";

/** The data of the page of a capture. */
export interface CapturePage {
  /** The capture file. */
  capture: CaptureInfo;
  /** Names of causes, by number. */
  causes: string[];
  /** TCP flows, the one with most bytes first. */
  flows: CaptureFlow[];
  /** `longfat-diagnosis/4`. */
  format: string;
  /** Names of the packets' kinds, by number. */
  kinds: string[];
  /** The language to open in. */
  lang: Lang;
  /** Policers, shapers and bottlenecks on the path. */
  limiters: Limiter[];
  /** longfat's version. */
  longfat: string;
  /** TCP flows that the page leaves out. */
  more: number;
  /** UDP flows that the page leaves out. */
  more_udp: number;
  /** Notes on the capture's defects and gaps. */
  notes: { en: string[]; zh: string[]; };
  /** The summary of each group of flows. */
  summaries: { en: PageSummary[]; zh: PageSummary[]; };
  /** UDP flows, the one with most bytes first. */
  udp: CaptureUdpFlow[];
}

/** Position of the capture on the path of a flow. */
export type CapturePlace = "sender" | "receiver" | "middle" | "unknown";

/** A UDP flow: its diagnosis, and the words of the terminal's table. */
export interface CaptureUdpFlow {
  /** Losses and delays between two captures of the path; absent where there is only one. */
  between_ends?: UdpBetweenEnds;
  /** Time from the first to the last datagram, s. */
  duration_s: number;
  /** Sending end, `address:port`. */
  from: string;
  /** The flow's id among the UDP flows: even for the end that sent first, odd for the other. */
  id: number;
  /** Bytes including IP headers. */
  ip_bytes: number;
  /** The rate limiter that the flow passes; absent where none shows. */
  limiter?: Limiter;
  /** Whether losses are known, and their source. */
  loss: UdpLoss;
  /** Share of the flow's packets that were lost, 0 to 1; absent if unknown. */
  lost?: number;
  /** Datagrams lost; absent where unknown. */
  lost_packets?: number;
  /** Highest rate over half a second, Mbit/s of IP bytes; absent for shorter flows. */
  max_rate_mbps?: number;
  /** Rate over time. */
  over_time: UdpRate[];
  /** Datagrams. */
  packets: number;
  /** Payload bytes. */
  payload_bytes: number;
  /** Detected protocol: `quic`, `rtp` or `udp`. */
  protocol: string;
  /** The protocol, in both languages. */
  protocol_text: { en: string; zh: string; };
  /** Facts from QUIC's handshake; absent for other protocols. */
  quic?: QuicFacts;
  /** `ip_bytes` over the duration, Mbit/s. */
  rate_mbps: number;
  /** Facts from RTP's sequence numbers and timestamps; absent for other protocols. */
  rtp?: RtpFacts;
  /** RTTs measured by the spin bit, ms, including delays of the ends (RFC 9312 section 3.8.2); absent where the bit does not spin. */
  spin_rtt_ms?: RttSummary;
  /** First datagram, seconds since the capture began. */
  start_s: number;
  /** Receiving end, `address:port`. */
  to: string;
}

/** Kind of packets that a stage carries. */
export type Carried = "data" | "acks" | "both";

/** What can limit a flow. */
export type Cause = "application" | "receive-window" | "receiver-stalled" | "send-buffer" | "slow-start" | "random-loss" | "congestion" | "bottleneck" | "policed" | "shaped" | "outage" | "packet-too-big" | "black-hole" | "fragmented" | "setup-failed" | "nagle" | "ack-path" | "unknown";

/** A cause and its share of a flow's time. */
export interface CauseShare {
  /** The cause. */
  cause: Cause;
  /** Time with this cause, s. */
  seconds: number;
  /** Share of the flow's time, 0 to 1; the shares of a flow add up to 1. */
  share: number;
}

/** An interval of a flow's time with its cause. */
export interface CauseSpan {
  /** The cause in this interval. */
  cause: Cause;
  /** Begin, seconds since the capture began. */
  from_s: number;
  /** End, seconds since the capture began. */
  to_s: number;
}

/** Flows at a limiter that appear to use the same congestion control. */
export interface CcShare {
  /** Congestion control, as in `Guess`; `other` where it was not recognised. */
  cc: string;
  /** Number of flows. */
  flows: number;
  /** Payload rate of these flows together, Mbit/s, from the begin of the limiter's first flow to the end of its last. */
  mbps: number;
  /** Their share of the payload of all flows at the limiter, 0 to 1. */
  share: number;
}

/** A change that would help. */
export interface Change {
  /** Commands that make the change, with their undo. Of several sets for the same host, one suffices. Empty where no command makes the change, or where the previous value could not be read and so could not be restored. */
  commands?: CommandSet[];
  /** Expected effects; empty where none can be estimated. */
  effects?: ChangeEffect[];
  /** Kind of change. */
  kind: ChangeKind;
  /** The name to choose, where the setting is a name (`bbr`, `fq_codel`), or the name of the setting that holds the value (`tcp_rmem`); absent where there is none. */
  name?: string;
  /** Place of the change. */
  place: ChangePlace;
  /** The number to set; absent where the change has none. */
  setting?: ChangeSetting;
  /** Reason for the change, one sentence; empty where the surrounding result gives it. */
  why?: string;
}

/** Expected effect of a change on a measure. */
export interface ChangeEffect {
  /** Whether `then` is a bound, an estimate or simulated. */
  bound: EffectBound;
  /** Formula of `then` with its source, or the description of the simulated scenario. */
  formula: string;
  /** The measure. */
  measure: EffectMeasure;
  /** Value as measured or simulated without the change; absent where the capture does not show it. */
  now?: number;
  /** Value expected with the change. */
  then: number;
  /** Unit of `now` and `then`. */
  unit: ChangeUnit;
}

/** Kind of change. */
export type ChangeKind = "shape" | "congestion-control" | "pacing" | "pacing-cap" | "small-bursts" | "bucket-size" | "queue-management" | "ecn" | "queue-length" | "higher-rate" | "repair-link" | "receive-buffer" | "flow-control" | "window-scaling" | "receiving-application" | "send-buffer" | "sending-application" | "reuse-connections" | "more-connections" | "split-proxy" | "initial-window" | "idle-restart" | "loss-recovery" | "retransmission-timeout" | "saved-metrics" | "link-log" | "return-path" | "mss-clamp" | "allow-icmp" | "mtu-probing" | "no-delay" | "write-at-once" | "accept-queue" | "backlog" | "tcp-memory" | "offloads" | "host-setting" | "service" | "reachability" | "capture-again";

/** Place of a change. It also identifies the party that must make it: the operator of that place. */
export type ChangePlace = "sender" | "receiver" | "both-ends" | "sender-edge" | "limiter" | "before-capture" | "behind-capture" | "path" | "return-path";

/** A number to set. */
export interface ChangeSetting {
  /** Present value; absent where unknown. */
  now?: number;
  /** Value to set. */
  to: number;
  /** Unit of both values. */
  unit: ChangeUnit;
}

/** Unit of the numbers of a change. */
export type ChangeUnit = "Mbit/s" | "bytes" | "ms" | "s" | "times";

/** The clock that drove a run. */
export type Clock = "sim" | "kernel";

/** Commands that make a change on one platform, with their undo. */
export interface CommandSet {
  /** Lines that make the change. On Linux these are shell commands; `$DEV` is the interface. */
  apply: string[];
  /** The host of the scenario, or the network namespace, on which the commands run. */
  at: string;
  /** Required versions, modules and programs. */
  needs: string;
  /** The platform. */
  platform: Platform;
  /** The neighbour that `$DEV` or the interface leads to, or the peer that `$PEER` stands for; absent where none is named. */
  towards?: string;
  /** Lines that undo the change. A line that starts with `#` says which previous value is unknown. */
  undo: string[];
}

/** An end of a connection. */
export type ConnectionEnd = "client" | "server";

/** The reset of a connection. */
export interface ConnectionReset {
  /** Whether an end had already sent FIN. */
  after_fin: boolean;
  /** Time of the reset, seconds since the capture began. */
  at_s: number;
  /** The end whose address the RST carries; a device on the path may have sent it in that end's name. */
  by: ConnectionEnd;
  /** Payload bytes that the client had sent. */
  client_bytes: number;
  /** Whether data was unacknowledged; false: the connection was idle. */
  outstanding: boolean;
  /** Payload bytes that the server had sent. */
  server_bytes: number;
}

/** The setup of a connection. */
export interface ConnectionSetup {
  /** Kind of failure; absent where the setup succeeded. */
  failed?: SetupEnd;
  /** Time from the first SYN to the RST that refused it, ms; absent where none did. */
  refused_after_ms?: number;
  /** Time from the first SYN to the last, s. */
  retried_s: number;
  /** SYN/ACKs of the server. */
  syn_acks: number;
  /** SYNs of the client; all but the first are retries. */
  syns: number;
  /** What ICMP reported as unreachable: `network`, `host`, `port`, `prohibited` or `other`; absent without ICMP. */
  unreachable?: string;
}

/** A name and a count. */
export interface Counted {
  /** The count. */
  count: number;
  /** Name of what is counted. */
  name: string;
}

/** Damage of a capture file. */
export interface Damage {
  /** Byte offset of the damage in the decompressed capture. */
  offset: number;
  /** Description of the damage. */
  what: string;
}

/** A process of the run that died early: a daemon, a relay or a flow's program. */
export interface DeadComponent {
  /** Time at which it was found dead, ms since the start of the run. */
  at_ms: number;
  /** Component and its place: "host gw: charon (IPsec over link access)". */
  component: string;
  /** How it died: "killed by signal 9". */
  how: string;
}

/** Time that packets spent in an element, ms. */
export interface DelaySummary {
  /** Maximum. */
  max: number;
  /** Mean. */
  mean: number;
}

/** Delay above the minimum one-way delay, ms; zeros where nothing arrived. */
export interface DelayVariation {
  /** Maximum. */
  max: number;
  /** Mean. */
  mean: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
}

/** Delay and losses in an interval. */
export interface DelayVariationPart {
  /** Packets sent in the interval that arrived. */
  arrived: number;
  /** Begin of the interval, seconds since the first capture began. */
  from_s: number;
  /** Data packets sent in the interval that were lost. */
  lost: number;
  /** Maximum delay above the minimum, ms. */
  max_ms: number;
  /** Mean delay above the minimum, ms. */
  mean_ms: number;
}

/** The diagnosis of a capture. */
export interface Diagnosis {
  /** The capture and what was read of it. */
  capture: CaptureInfo;
  /** Directions of TCP connections that carried payload, the one with most bytes first, and connections whose setup failed. */
  flows: FlowDiagnosis[];
  /** Policers, shapers and bottlenecks found; flows refer to them by index. */
  limiters: Limiter[];
  /** Name and version of the schema. */
  schema: string;
  /** Directions of UDP flows, the one with most bytes first; at most a thousand. */
  udp_flows?: UdpFlowDiagnosis[];
}

/** How an expected value relates to the one that will be measured. */
export type EffectBound = "at-most" | "about" | "simulated";

/** Measure that is expected to change. */
export type EffectMeasure = "goodput" | "total-goodput" | "queue-delay" | "zero-windows" | "answer-time";

/** Results of one path element. */
export interface ElementResult {
  /** Time that packets spent in the element, ms. */
  delay_ms: DelaySummary;
  /** Packets dropped, without those that were too big (`too_big_packets`). */
  dropped_packets: number;
  /** Packets fragmented here. */
  fragmented_packets?: number;
  /** Fragments made of them; each counts in `passed_packets`. */
  fragments?: number;
  /** Fragments that were reassembled here, not counting the first of each packet. */
  joined_packets?: number;
  /** Kind: `policer`, `shaper`, `link` …. */
  kind: string;
  /** Packets marked, with ECN CE or a DSCP. */
  marked_packets: number;
  /** Longest queue, packets. */
  max_queue_packets: number;
  /** Name: `link.direction.stage`. */
  name: string;
  /** Packets forwarded. */
  passed_packets: number;
  /** Size limit that those packets exceeded; absent where there were none, or where the limit was a bucket smaller than a packet. */
  too_big?: TooBigPackets;
  /** Packets discarded because they were too big, whether or not an ICMP error was returned to the sender. */
  too_big_packets?: number;
}

/** An element's columns. */
export interface ElementSeries {
  /** Columns by name. */
  columns: Record<string, PageColumn>;
  /** The element's name. */
  name: string;
}

/** Columns of the same length. */
export interface EncodedTable {
  /** Columns by name. */
  columns: Record<string, PageColumn>;
}

/** A mean over repeats with its confidence interval. */
export interface Estimate {
  /** Half the width of the 95 % confidence interval of the mean (Student's t). */
  ci95: number;
  /** Mean over the repeats. */
  mean: number;
}

/** A condition that was expected of a variant (`--expect`), and the measured value. */
export interface Expectation {
  /** The clock that drove the variant. */
  clock: Clock;
  /** The condition as it was written: `upload.goodput > 18Mbit/s`. */
  expected: string;
  /** The measured value, in `unit`. Absent where nothing was measured; the condition then counts as not met. */
  measured?: number;
  /** Whether the condition was met. */
  met: boolean;
  /** Unit of `measured`: `Mbit/s`, `%`, `ms`, `s`; empty for counts and indexes. */
  unit: string;
  /** The variant that was checked. */
  variant: string;
}

/** How the variants of all results were run. */
export interface Facts {
  /** The clocks, without repetition. */
  clocks: Clock[];
  /** Shortest and longest duration of a variant, seconds; 0 without variants. */
  duration_s: [number, number];
  /** Largest number of repeats of a variant; 0 without repeats. */
  repeats: number;
  /** The seeds, without repetition. */
  seeds: number[];
  /** Number of variants. */
  variants: number;
}

/** A fault that the scenario injects (`faults`). */
export interface FaultResult {
  /** Begin, seconds since the start of the run. */
  at_s: number;
  /** Duration, s. */
  duration_s: number;
  /** `link`, `tunnel`, `bgp` …, as scenarios spell it. */
  kind: string;
  /** Name of the fault. */
  name: string;
  /** The affected link or host. */
  of: string;
}

/** The figures of a variant, or of one of its flows. Unknown figures are absent. */
export interface Figures {
  /** Bandwidth-delay product of the common limit and the minimum RTT, in full packets. */
  bdp_packets?: number;
  /** Names of the congestion controls, without repetition. */
  cc: string;
  /** Half the width of the goodput's 95 % confidence interval over repeats. */
  ci95_mbps?: number;
  /** The limit that all flows share, Mbit/s; for flows measured one at a time, the limit of each if it is the same. */
  common_limit_mbps?: number;
  /** Median time from a flow's start to its last byte, seconds. */
  completion_p50_s?: number;
  /** 95th percentile of the time from a flow's start to its last byte, seconds. */
  completion_p95_s?: number;
  /** Share of datagrams lost by the flow that lost most, 0 to 1. */
  datagrams_lost?: number;
  /** Median one-way delay of the datagram flow with the longest one, ms; only of calls if there are calls. */
  delay_p50_ms?: number;
  /** 95th percentile of the one-way delay of the datagram flow with the longest one, ms. */
  delay_p95_ms?: number;
  /** Packets that elements dropped. */
  dropped?: number;
  /** Minimum and maximum goodput of the compared flows, Mbit/s. */
  each_mbps?: [number, number];
  /** Number of compared flows: the TCP flows, or all if there are none. */
  flows: number;
  /** Goodput over repeats, Mbit/s: minimum, quartiles, maximum. */
  goodput_box?: number[];
  /** Goodput, Mbit/s; absent for flows measured one at a time, whose sum is meaningless. */
  goodput_mbps?: number;
  /** Jain's fairness index of several similar flows that shared the path. */
  jain_index?: number;
  /** Interarrival jitter (RFC 3550 section 6.4.1) of the datagram flow with the largest one, ms. */
  jitter_ms?: number;
  /** Share of TCP's data packets that the path dropped, 0 to 1; absent unless it is known of every flow. */
  lost?: number;
  /** Maximum queue of any element, packets. */
  max_queue?: number;
  /** Lowest mean opinion score of a call (ITU-T G.107 annex B), 1 to 4.5. */
  mos?: number;
  /** Median time to load a whole page, seconds. */
  page_p50_s?: number;
  /** 95th percentile of the time to load a whole page, seconds. */
  page_p95_s?: number;
  /** Median round trip of the probe flow with the longest one, ms. */
  probe_p50_ms?: number;
  /** 95th percentile of the round trip of the probe flow with the longest one, ms. */
  probe_p95_ms?: number;
  /** Retransmissions. */
  resent: number;
  /** Median time from a request to the last byte of its response, seconds. */
  response_p50_s?: number;
  /** 95th percentile of the time from a request to the last byte of its response, seconds. */
  response_p95_s?: number;
  /** Mean RTT over repeats, ms: minimum, quartiles, maximum. */
  rtt_box?: number[];
  /** Mean RTT of the TCP flow with the longest one, ms. */
  rtt_mean_ms?: number;
  /** Median RTT over time of the TCP flow with the longest one (`Measure`), ms. */
  rtt_p50_ms?: number;
  /** 95th percentile of the RTT of the TCP flow with the longest one, ms. */
  rtt_p95_ms?: number;
  /** Goodput as a share of the tightest limit, 0 to 1. */
  share?: number;
  /** Goodput of the TCP flows, if there are datagrams too, Mbit/s. */
  tcp_mbps?: number;
  /** Retransmission timeouts. */
  timeouts: number;
  /** Goodput of the datagrams, if there are TCP flows too, Mbit/s. */
  udp_mbps?: number;
  /** Transfers that did not finish. */
  unfinished: number;
}

/** The diagnosis of one direction of one connection. */
export interface FlowDiagnosis {
  /** Other causes that fit, the most probable first; empty where `confidence` is at least `SURE`. */
  alternatives?: AlternativeCause[];
  /** Losses and delays measured between two captures; absent without a second capture, or where it lacks this connection. */
  between_ends?: BetweenEnds;
  /** Main cause: the one with the largest share of the flow's time. */
  cause: Cause;
  /** All causes with their shares, the largest first. */
  causes: CauseShare[];
  /** Congestion control of the sender, as its packets suggest. */
  cc: Guess;
  /** Probability that `cause` is right, 0 to 1. */
  confidence: number;
  /** Number of the connection in the capture. */
  connection: number;
  /** Time from the first data to its last ACK, s. */
  duration_s: number;
  /** Sending end, `address:port`. */
  from: string;
  /** The flow's id in the diagnosis (`FlowDiagnosis::number`); independent of the order of `flows`. */
  id: number;
  /** Index into `Diagnosis::limiters`; absent where the flow passes none that was found. */
  limiter?: number;
  /** Measurements of the flow. */
  measures: Measures;
  /** The capture that would decide between `cause` and `alternatives`; absent where `confidence` is at least `SURE`. */
  needs?: CaptureNeed;
  /** Codes of what limits the trust in the numbers: `no-handshake`, `window-scale-unknown`, `window-scale-refuted` (more data was in flight than the windows allow at that scale), `capture-missed-packets`, `one-way` (only one direction was captured), `acks-missing` (for a while no ACK was captured, although new data followed), `rtt-from-capture` (RTTs lack the path between sender and capture), `options-cut` (the snap length cut TCP options off), `no-sack`, `duplicate-records` (counted once), `few-packets` (too few for a verdict on the path), `few-loss-episodes` (the main cause lost packets at one or two moments only, too few to show it), `waits-unseen` (the queueing delay before the capture, where packets were lost, is unknown), `waits-too-short` (packets were lost in front of a link; the timestamps are too coarse to tell a short queue from chance), `pauses-ambiguous` (the application's pauses may be those of a full window), `no-packets` (known only from its socket's counters), `qlog` (from a QUIC sender's qlog), `qlog-receiver` (from a receiver's), `qlog-no-acks`, `qlog-no-cwnd`, `qlog-no-flow-control` (what that log lacks), `qlog-cut` (the log ends in the middle of an event) …. */
  notes?: string[];
  /** Packets of the capture as evidence, for each cause that took at least a hundredth of the flow's time and for other findings. */
  proofs?: PacketProof[];
  /** The sender's own qlog of its congestion control; absent where the flow is not from a sender's qlog, or where that log states no congestion window. */
  qlog?: QlogAccount;
  /** The most probable limiter where none is reported; absent where nothing suggests one. */
  rejected_limiter?: RejectedLimiter;
  /** Changes that would help, the most promising first. */
  remedies?: Change[];
  /** The reset that ended the connection; absent where there was none. */
  reset?: ConnectionReset;
  /** Times in which the sender responded to requests; absent where it received none. */
  responses?: ResponseTimes;
  /** Connection setup; absent where one SYN and one SYN/ACK sufficed. */
  setup?: ConnectionSetup;
  /** Counters that the sending host's kernel kept of the flow's socket; absent where the socket was not watched. */
  socket?: SocketAccount;
  /** First packet, seconds since the capture began. */
  start_s: number;
  /** Intervals with their causes, in order of time and without gaps; at most a few hundred. */
  timeline: CauseSpan[];
  /** Receiving end, `address:port`. */
  to: string;
  /** Position of the capture on the flow's path. */
  vantage: Vantage;
}

/** Figures of a flow that are computed from its measures. */
export interface FlowFigures {
  /** The main cause's share of the flow's time, 0 to 1. */
  cause_share: number;
  /** Data packets lost on either side of the capture, 0 to 1; absent without data. */
  lost?: number;
}

/** Kind of a flow's packets, which decides the kind of its delay. */
export type FlowKind = "tcp" | "datagrams" | "probe";

/** Effect of a fault on a flow, from the fault's begin until the next fault began, the flow was done or the run ended. Times are as exact as the sampling interval of the time series. A flow is silent at times without a fault, too; `caused_silence` says whether the fault caused the silence. */
export interface FlowOutage {
  /** Whether the fault caused the silence: the silence overlaps the fault, and is longer than k times the ordinary one plus a sampling interval. With n ordinary silences and m during the fault, k = ln(20 m) / ln n, at least 1: the longest of n exponentially distributed silences is about ln n means, and one of m exceeds k times that with probability m / n^k, here some 5 %. With fewer than two ordinary silences, the fault caused the silence if that is as long as the fault. */
  caused_silence: boolean;
  /** Name of the fault. */
  fault: string;
  /** Datagrams due between the begin of this fault and the begin of the next that did not arrive; absent for TCP flows. */
  lost_packets?: number;
  /** Longest time between two received bytes that does not overlap any fault, ms: the flow's ordinary silence. Absent where there is none. */
  ordinary_silence_ms?: number;
  /** Time from the fault's begin to the end of the silence, ms. Absent where the fault did not cause it, or where nothing arrived afterwards. */
  recovery_ms?: number;
  /** Longest time without a received byte, ms; a silence that had begun before the fault counts whole. Absent where the flow was already done or had not begun, and without time series. */
  silence_ms?: number;
}

/** Numbers of a flow over the repeats. */
export interface FlowRepeats {
  /** Goodput, Mbit/s. */
  goodput_mbps: Estimate;
  /** Retransmitted packets. */
  retransmitted_packets: Estimate;
  /** Mean RTT, ms. */
  rtt_mean_ms: Estimate;
}

/** Results of one flow. */
export interface FlowResult {
  /** Lifetime of the flow, s: from its established connection, or from when its first datagram was due, until it was done or the run ended. */
  active_s: number;
  /** Kind of the application, as in scenarios; absent in older results. */
  app?: string;
  /** Congestion control; `udp` for datagram flows. */
  cc: string;
  /** Completed exchanges of `request` flows, or pages of `page` flows; absent for others. */
  completed?: number;
  /** Time from the flow's start to its last byte at the receiving application, s; absent where the flow is not finite or did not complete. */
  completion_s?: number;
  /** Payload bytes delivered in the whole run, in the direction that `goodput_mbps` counts. */
  delivered_bytes: number;
  /** Sending host. */
  from: string;
  /** Payload delivered to the receiving application over the variant's measured interval (`VariantResult::measured_s`), Mbit/s; for requests and answers, in the direction that carries more. */
  goodput_mbps: number;
  /** Kind of the flow's packets. Older results lack it; it is then derived from `cc` and `app`. */
  kind: FlowKind;
  /** The tightest rate limit on this flow's path, Mbit/s; absent as `VariantResult::limit_mbps`. */
  limit_mbps?: number;
  /** Data packets that the path dropped; absent where unknown. */
  lost_packets?: number;
  /** Payload bytes of a full-sized segment; absent for datagram flows and where unknown. */
  mss_bytes?: number;
  /** Name of the flow. */
  name: string;
  /** Effect of each fault on this flow, in the order of `VariantResult::faults`. */
  outages?: FlowOutage[];
  /** Load times of whole pages, s; only for `page` flows. */
  page_s?: TimesSummary;
  /** Delay, jitter, loss and call quality as a receiver that plays datagrams out sees them; absent for TCP flows. */
  real_time?: RealTime;
  /** Means and confidence intervals; absent where the variant ran once. */
  repeats?: FlowRepeats;
  /** Response times, s, from request to last byte of the answer; only for `request` and `page` flows. */
  response_s?: TimesSummary;
  /** Retransmitted data packets, included in `sent_packets`. */
  retransmitted_packets: number;
  /** RTTs of a TCP flow, ms, each ACK's sample counted once, for comparison with a capture. Absent where `rtt_ms` is. */
  rtt_acks_ms?: RttSummary;
  /** RTTs of a TCP flow, ms, weighted by time: a sample counts for the time since the previous one, so that slow periods, which have few ACKs, count for as long as they last. Absent without a sample and for datagram flows, whose delay is in `real_time`. */
  rtt_ms?: RttSummary;
  /** Data packets sent, including retransmissions. */
  sent_packets: number;
  /** Share of the lifetime spent in each state of the congestion control, largest first; with relays, of the first connection, as in the time series. Absent without time series and for datagram flows. */
  states?: StateTime[];
  /** Share of the flow's lifetime, 0 to 1, in which nothing was sent until a retransmission timeout fired; absent where `states` is. */
  timeout_wait?: number;
  /** Number of retransmission timeouts. */
  timeouts: number;
  /** Receiving host. */
  to: string;
  /** Whether a finite flow did not complete. Absent: false. */
  unfinished?: boolean;
}

/** A flow's columns. */
export interface FlowSeries {
  /** Columns by name. */
  columns: Record<string, PageColumn>;
  /** The flow's name. */
  name: string;
  /** Retransmissions: `time_s`, `byte`, `len`. */
  resent: Record<string, PageColumn>;
  /** Responses: `start_s`, `seconds`, and `page`, which is 1 for a whole page. */
  responses: Record<string, PageColumn>;
  /** Names of the states that the column `state` counts. */
  states: string[];
}

/** The quantity by which variants are compared. */
export type Goal = "goodput" | "p95 delay" | "completion time" | "page time" | "fairness";

/** A row of the table of goals, as text. */
export interface GoalRow {
  /** The baseline's value with its unit; empty if it was not measured. */
  baseline: string;
  /** The best variant; empty if that is the baseline. */
  best: string;
  /** Other noticeable changes in the best variant. */
  costs: string;
  /** Name of the goal. */
  goal: string;
  /** The best variant's value with its unit; empty if that is the baseline. */
  value: string;
}

/** The property that the flows of a group have in common. */
export type GroupBy = "cc" | "from" | "direction" | "name";

/** A group of a variant's flows with its figures. */
export interface GroupFigures {
  /** Figures of the flows together. */
  figures: Figures;
  /** The flows' indices in the variant. */
  members: number[];
  /** The value that the flows have in common. */
  name: string;
}

/** The detected congestion control of a sender. */
export interface Guess {
  /** Confidence, 0 to 1; 0 with `other`: not recognised. */
  confidence: number;
  /** `cubic`, `reno`, `bbr`, `vegas`, `westwood` or `other`. */
  name: string;
}

/** A language of the table. */
export type Lang = "en" | "zh";

/** An effect that limits the flows: without it, the goal is met better. */
export interface Limitation {
  /** Further places of the same kind that were switched off together with `place`, because none alone has an effect; absent where there are none. */
  also?: string[];
  /** Kind of packets of the limited flows that the stage carries; absent where `place` is not a stage. */
  carries?: Carried;
  /** Packets that the stage dropped; absent where it dropped none, and where `place` is not a stage. */
  drops?: LimitationDrops;
  /** The first goal's measure, then those of the other goals, then goodput, RTTs and delays: with the scenario's own seed, or means over `runs` for a variant with repeats. */
  effects: LimitationEffect[];
  /** The limited flow, where flows were measured one at a time; else the first of a group of flows that share no direction of a link with the others, and `gain` and `effects` count for that group. Absent where the effect concerns all flows. */
  flow?: string;
  /** Improvement of the first goal without the effect, as a factor: goodput of 4 instead of 1 Mbit/s, or a delay of 20 instead of 80 ms, is 4. The geometric mean over `runs`, at most a million; goodput below 1 kbit/s counts as 1 kbit/s. */
  gain: number;
  /** Kind of effect. */
  kind: LimitationKind;
  /** Smallest gain over all runs. */
  min_gain: number;
  /** Where the effect is: a stage (`link.direction.stage`), a host, a flow, a relay or a fault. */
  place: string;
  /** Rate of the stage, Mbit/s; only for kind `rate`. */
  rate_mbps?: number;
  /** Number of compared pairs of runs; each pair has its own seed. */
  runs: number;
  /** How long a flow received nothing; only for outages, faults, handovers and oversized packets. Absent where each pause was shorter than Linux's minimum retransmission timeout (200 ms). */
  silence?: LimitationSilence;
  /** Simulated part of the scenario, s; absent where the whole scenario was simulated. */
  simulated_s?: number;
}

/** Packets that a stage dropped in the unmodified run. */
export interface LimitationDrops {
  /** Loss events: drops within one RTT count as one event (RFC 5348 section 5.2), so that a burst lost at a full queue counts once. The RTT is the shortest of the run; where the sampling interval `sample` is longer, or `measure` is set, drops within one sample are one event. */
  events: number;
  /** Dropped packets. */
  packets: number;
}

/** A measure with and without the suspected effect. */
export interface LimitationEffect {
  /** Name of the measure, as `--expect` spells it: `tcp.goodput`, `rtt.p95`. */
  measure: string;
  /** Unit of both values: `Mbit/s`, `ms`, `s`; empty for indexes. */
  unit?: string;
  /** Simulated value of the scenario as it is; absent where infinite, as the time of an unfinished transfer. */
  with?: number;
  /** Simulated value without the suspected effect; absent where infinite. */
  without?: number;
}

/** Kind of effect that can limit a flow. */
export type LimitationKind = "loss" | "outage" | "fault" | "handover" | "radio-errors" | "policer" | "mtu" | "reordering" | "duplication" | "jitter" | "queue-limit" | "standing-queue" | "receive-window" | "send-buffer" | "buffers" | "relay-buffer" | "sack" | "pacing-cap" | "application" | "rate" | "competing-flow" | "slow-start" | "congestion-control";

/** How the search for `limited_by` was done. */
export interface LimitationSearch {
  /** The measure that gains are computed from, as in `LimitationEffect::measure`. */
  measure?: string;
  /** Number of simulated runs. */
  runs: number;
  /** Value of the measure in that part of the scenario; absent where the whole scenario was simulated. */
  simulated?: number;
  /** Simulated part of the scenario, s; absent where the whole scenario was simulated. */
  simulated_s?: number;
  /** Work of these runs: the number of stages passed, summed over packets. The search's budget limits this and the number of runs. */
  stage_packets: number;
  /** Effects whose removal was simulated, the largest gain first. */
  tried?: TriedSuspect[];
  /** Why no search was possible; absent where one was done. */
  unknown?: string;
  /** Effects that the budget left no run for. */
  untried?: TriedSuspect[];
}

/** Time in which a flow with data to send received nothing in the unmodified run. */
export interface LimitationSilence {
  /** Lifetime of the flow, s. */
  active_s: number;
  /** The flow with the longest silence. */
  flow: string;
  /** Sum of all periods of at least 200 ms without a received byte, s. */
  silence_s: number;
}

/** A rate limiter that the capture shows. */
export interface Limiter {
  /** Active queue management of the limiter's queue; absent unless queueing delays are known and the losses occurred when that law predicts them. */
  aqm?: Aqm;
  /** Whether the limiter is between sender and capture; false: between capture and receiver. */
  before_capture: boolean;
  /** Size of the token bucket of a policer or shaper, bytes; absent where the capture does not show it, for example because the bucket never went from full to empty. */
  burst_bytes?: number;
  /** Confidence that the limiter exists as described, 0 to 1. */
  confidence: number;
  /** Whether each flow has its own queue and all are served equally (fair queueing). Detected only on a link that several flows fill, with the capture before it. Absent: false. */
  fair_queue?: boolean;
  /** Ids of the flows that pass the limiter. */
  flows: number[];
  /** Kind of limiter. */
  kind: LimiterKind;
  /** Share of packets that the limiter dropped, 0 to 1. */
  lost_share: number;
  /** Longest queue seen at a shaper or bottleneck, bytes; absent where unknown. */
  queue_bytes?: number;
  /** Longest queueing delay seen, ms; absent where unknown. */
  queue_ms?: number;
  /** Rate of IP bytes, Mbit/s. */
  rate_mbps: number;
  /** Lowest and highest rate that explain the losses equally well, Mbit/s, `rate_mbps` among them; absent where losses determine the rate. A range occurs where, for example, a small bucket refills between bursts. */
  rate_range_mbps?: [number, number];
  /** How several flows share the rate, grouped by their detected congestion control, the largest share first. */
  shares_by_cc?: CcShare[];
}

/** Kind of a rate limiter. */
export type LimiterKind = "policer" | "shaper" | "bottleneck";

/** A packet that was lost between the captures. */
export interface LostBetween {
  /** Whether the packet was a retransmission. */
  again: boolean;
  /** Time at which the packet passed the capture on the sender's side, seconds since the first capture began. */
  at_s: number;
  /** Payload bytes that were lost. */
  bytes: number;
  /** Sequence number, as in the packet. */
  seq: number;
}

/** Measurements of a flow. */
export interface Measures {
  /** ACKs received. */
  acks: number;
  /** Bandwidth-delay product, bytes: `max_delivery_mbps` times minimum RTT. */
  bdp_bytes: number;
  /** Payload bytes acknowledged; bytes seen, where the capture has no ACKs. */
  bytes: number;
  /** Data packets that arrived at the capture with a CE mark. */
  ce: number;
  /** Data packets on the wire. */
  data_packets: number;
  /** Duplicate ACKs received. */
  dup_acks: number;
  /** ACKs with ECN echo. */
  ece: number;
  /** Whether both ends agreed on ECN. */
  ecn: boolean;
  /** Retransmitted packets of fast recovery. */
  fast: number;
  /** Packets that arrived as IP fragments, themselves or the tunnel packet around them. */
  fragmented_packets: number;
  /** Fragments of those packets. */
  fragments: number;
  /** Payload acknowledged over the flow's time, Mbit/s. */
  goodput_mbps: number;
  /** RTT of the handshake, ms; absent where the capture lacks it. */
  handshake_rtt_ms?: number;
  /** Time in which such a segment was held back, s. */
  held_s: number;
  /** Small segments held back until all earlier data was acknowledged, with an ACK that the receiver delayed (Nagle). */
  held_segments: number;
  /** ICMP messages that reported a packet as too big (RFC 1191, RFC 8201); `too_big` includes them. */
  icmp_too_big: number;
  /** Time with nothing outstanding, s. */
  idle_s: number;
  /** Fragmented packets of which some fragments never arrived. */
  incomplete_packets: number;
  /** Largest back-to-back burst, bytes. */
  largest_burst_bytes: number;
  /** Packets lost between capture and receiver. */
  lost_down: number;
  /** Packets lost between sender and capture. */
  lost_up: number;
  /** Highest rate at which payload was acknowledged over two consecutive round trips, Mbit/s. */
  max_delivery_mbps: number;
  /** Maximum of bytes in flight. */
  max_inflight_bytes: number;
  /** Largest receive window seen, bytes; absent where the window scale is unknown. */
  max_window_bytes?: number;
  /** Mean back-to-back burst, bytes. */
  mean_burst_bytes: number;
  /** Mean over round trips of each one's maximum of bytes in flight. */
  mean_inflight_bytes: number;
  /** Share of the payload that is missing from the capture, 0 to 1; absent where none is. Above 0.07 no cause is named. */
  missing_share?: number;
  /** Payload bytes of a full-sized segment before the size was reduced within the connection; absent where it was not. */
  mss_before_bytes?: number;
  /** Payload bytes of a full-sized segment; 0 where unknown. */
  mss_bytes: number;
  /** Largest IP packet that the path carries, bytes: as ICMP reported, as the size shows to which full segments were reduced, or (within 8 bytes) as fragments show; absent where none of these did. */
  path_mtu_bytes?: number;
  /** Packets reordered between sender and capture. */
  reordered: number;
  /** Longest delay of a reordered packet, ms. */
  reordered_by_ms: number;
  /** Retransmitted packets. */
  retransmitted_packets: number;
  /** Retransmitted packets after a retransmission timeout. */
  rto: number;
  /** RTTs of data packets end to end, ms; all zero without a sample. */
  rtt_ms: RttSummary;
  /** Time in which no packet passed in either direction although data was outstanding, s. */
  silence_s: number;
  /** Retransmitted packets known to be spurious (unnecessary). */
  spurious: number;
  /** Time spent waiting for retransmission timeouts, s. */
  timeout_s: number;
  /** Retransmission timeouts. */
  timeouts: number;
  /** Retransmitted packets sent as tail loss probes (RFC 8985 section 7). */
  tlp: number;
  /** Full-sized segments that were lost repeatedly while smaller ones passed, or that ICMP reported as too big. */
  too_big: number;
  /** Whether both ends offered window scaling; absent where no SYN was seen. */
  window_scaling?: boolean;
  /** Number of times that the receive window closed (zero window). */
  zero_windows: number;
}

/** Distribution of a delay that the emulator itself adds, ms. */
export interface OwnDelay {
  /** Maximum. */
  max: number;
  /** Median. */
  p50: number;
  /** 99th percentile. */
  p99: number;
}

/** Packets of the capture as evidence for a statement about a flow. */
export interface PacketProof {
  /** The cause that the packets prove; absent where they prove something else, which `kind` names. */
  cause?: Cause;
  /** For lost packets, number of round trips with such losses; losses within a round trip count once, because congestion control responds to them once (RFC 5681 section 4.3). */
  episodes?: number;
  /** A display filter for Wireshark and tshark (`-Y`) that selects the packets. */
  filter: string;
  /** Kind of evidence. */
  kind: ProofKind;
  /** Numbers of some of the packets, as in Wireshark's `frame.number`: the record's position in the file, from 1; several files read together count as one. */
  packets: number[];
  /** Number of all such packets. */
  total: number;
}

/** The layout of a flow's columns in its blob. */
export interface Packets {
  /** ACKs: `time_s`, `acked_bytes`, `edge_bytes` (right edge of the receive window), `window_bytes`, `rtt_ms`. */
  acked: EncodedTable;
  /** Retransmitted or reordered packets: `time_s`, `byte`, `len`, `kind` (index into `kinds`). */
  again: EncodedTable;
  /** Id of the script element. */
  blob: string;
  /** Size when decompressed. */
  bytes: number;
  /** One packet in `every` is included. */
  every: number;
  /** One retransmission in `every_again` is included. */
  every_again: number;
  /** The flow's first packets are missing. */
  late: boolean;
  /** Data packets: `time_s`, `sent_bytes` (cumulative), `inflight_bytes`. */
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
  /** longfat's version. */
  longfat: string;
  /** Results in the order they were given. */
  results: Result[];
  /** The headline with its facts. */
  story: PageStory;
}

/** The position and encoding of a column in the decompressed blob. */
export interface PageColumn {
  /** Offset of the first byte. */
  at: number;
  /** Some values are null. */
  nulls?: boolean;
  /** Stored are differences (1) or differences of differences (2). */
  order: number;
  /** Divisor: a value is a stored integer divided by this. */
  per: number;
  /** Number of values. */
  rows: number;
}

/** The headline with its facts. */
export interface PageStory {
  /** The variants of the headline, the baseline first: indices of the result and of its variant. */
  about: ([number, number])[];
  /** The headline in English. */
  en: string;
  /** The numbers behind the headline and the cost of its advice, a line each. */
  facts: { en: string[]; zh: string[]; };
  /** The table of goals, if there are several. */
  goals: { en: GoalRow[]; zh: GoalRow[]; };
  /** The headline in Chinese. */
  zh: string;
}

/** The summary of a group of flows. */
export interface PageSummary {
  /** The flows' main cause. */
  cause?: string;
  /** The evidence, a short line each. */
  facts: string[];
  /** The flows' numbers; empty for a sentence on the flows that no group names. */
  flows: number[];
  /** The headline: what limited the flows and what to do about it. */
  text: string;
}

/** A link between two hosts. */
export interface PathLink {
  /** Stages from the second host to the first, in the order in which packets pass them. */
  backward: PathStage[];
  /** Names of the two hosts. */
  between: [string, string];
  /** Stages from the first host to the second, in the order in which packets pass them. */
  forward: PathStage[];
  /** Name of the link; its elements are named `name.forward.stage` and `name.backward.stage`. */
  name: string;
}

/** A split-TCP relay. */
export interface PathRelay {
  /** Name of the host on which the relay runs. */
  host: string;
  /** Name of the relay. */
  name: string;
}

/** A stage of one direction of a link. */
export interface PathStage {
  /** Whether the simulator added the stage: it assumes a network card where nothing on a path takes time. Absent: false. */
  assumed?: boolean;
  /** Kind: `policer`, `shaper`, `link` …. */
  kind: string;
  /** Name, unique in its direction of the link. */
  name: string;
  /** Settings that differ from the defaults of the kind, spelled as in the scenario: `rate` is `20Mbit/s`, `queue.packets` is `200`. */
  settings?: Record<string, string>;
}

/** Platform that commands are written for. */
export type Platform = "linux" | "networkd" | "application" | "longfat" | "nginx" | "haproxy" | "cni" | "cisco-ios" | "cisco-ios-xe";

/** The kind of evidence that packets give. */
export type ProofKind = "lost" | "waited" | "pauses" | "zero-windows" | "held" | "setup" | "resets" | "response";

/** A QUIC sender's own log of its congestion control. */
export interface QlogAccount {
  /** Packets that report exhausted flow control credit (DATA_BLOCKED, STREAM_DATA_BLOCKED; RFC 9000 section 19.12). */
  blocked_packets: number;
  /** How many times the congestion window was reduced by a tenth or more at once (Reno halves it, CUBIC reduces it by three tenths: RFC 9002 section 7.3.2, RFC 9438 section 4.6). */
  cuts: number;
  /** Maximum ACK delay in the peer's ACK frames, ms; absent where the log has none. */
  max_ack_delay_ms?: number;
  /** Largest congestion window, bytes. */
  max_cwnd_bytes: number;
  /** Maximum of bytes in flight in the log; absent where the log does not state them. */
  max_inflight_bytes?: number;
  /** Congestion window and bytes in flight over time. Above two thousand points, the smallest and largest window of each interval. */
  metrics: QlogPoint[];
  /** Smallest congestion window in the log, bytes. */
  min_cwnd_bytes: number;
  /** Median ACK delay in the peer's ACK frames, ms; absent where the log has none. */
  p50_ack_delay_ms?: number;
  /** Median of the congestion window over time, bytes. */
  p50_cwnd_bytes: number;
  /** Expired probe timeouts (RFC 9002 section 6.2) in the log. */
  probe_timeouts: number;
  /** How many times the congestion control entered recovery. */
  recoveries: number;
  /** States of the congestion control with their begin; at most the first thousand. */
  states: QlogStateSpan[];
  /** Share of the time in which bytes in flight were at least nine tenths of the congestion window, 0 to 1; absent where the log lacks either. */
  window_full_share?: number;
}

/** The sender's recovery metrics at one moment. */
export interface QlogPoint {
  /** Time, seconds since the begin of the capture or of the first qlog. */
  at_s: number;
  /** Congestion window, bytes. */
  cwnd_bytes: number;
  /** Bytes in flight; absent where not logged. */
  inflight_bytes?: number;
  /** Smoothed RTT, ms; absent where not logged. */
  srtt_ms?: number;
  /** Slow start threshold, bytes; absent where there is none. */
  ssthresh_bytes?: number;
}

/** A state of the congestion control and its begin. */
export interface QlogStateSpan {
  /** Begin of the state, seconds since the begin of the capture or of the first qlog. */
  at_s: number;
  /** Name of the state, as the implementation calls it. */
  name: string;
}

/** Facts that QUIC reveals without decryption. */
export interface QuicFacts {
  /** Destination connection ID of the client's first Initial packet, hexadecimal. */
  destination_id: string;
  /** Whether this direction is sent by the client. */
  from_client: boolean;
  /** RTT of the handshake, ms, including the ends' processing times (RFC 9312 section 3.8.1); absent where a packet of the handshake was retransmitted or is missing from the capture. */
  handshake_rtt_ms?: number;
  /** Whether the server sent Retry or Version Negotiation. */
  retried: boolean;
  /** Connection ID that the client chose, hexadecimal. */
  source_id: string;
  /** Behaviour of the spin bit (RFC 9000 section 17.4). */
  spin: SpinBit;
  /** Share of `handshake_rtt_ms` between capture and client; absent where that is. */
  to_client_ms?: number;
  /** Share of `handshake_rtt_ms` between capture and server; absent where that is. */
  to_server_ms?: number;
  /** Version, hexadecimal: `1` (RFC 9000), `6b3343cf` (version 2, RFC 9369) …. */
  version: string;
}

/** Delay, jitter, loss and call quality of a datagram flow, as a receiver that plays packets out sees them. A packet that did not arrive is lost if a later one arrived or the path dropped it; packets still in flight at the end of the run do not count. Duplicates are ignored. */
export interface RealTime {
  /** One-way delay, ms; round trip for probes. */
  delay_ms: RttSummary;
  /** Length of the jitter buffer, ms: the scenario's `jitter_buffer`, else 60. It is fixed; an adaptive one, which most phones have, would trade late packets for delay. Only for `voice` flows. */
  jitter_buffer_ms?: number;
  /** Interarrival jitter J (RFC 3550 section 6.4.1), ms: its mean over all packets but the first. */
  jitter_ms: number;
  /** Share of packets that arrived too late to be played out, 0 to 1: later than the fastest packet's delay plus the jitter buffer. Only for `voice` flows. */
  late?: number;
  /** Longest loss burst, packets. */
  loss_burst_max: number;
  /** Mean length of a loss burst, packets. */
  loss_burst_mean: number;
  /** Number of loss bursts: runs of consecutive lost packets, in sending order. */
  loss_bursts: number;
  /** Share of packets lost, 0 to 1. */
  lost: number;
  /** Mean opinion score that follows from `r_factor` (G.107 annex B), 1 to 4.5; absent where that is. */
  mos?: number;
  /** Transmission rating factor R of the E-model (ITU-T G.107). Lost and late packets count as loss; the delay is that of codec, fastest packet and jitter buffer together. Only for `voice` flows; absent where ITU-T G.113 does not list the codec. */
  r_factor?: number;
}

/** The most probable limiter of a flow for which none is reported, because "no limiter" is at least as probable. */
export interface RejectedLimiter {
  /** Kind of limiter. */
  kind: LimiterKind;
  /** Probability that the limiter exists, 0 to 1. */
  probability: number;
  /** Rate of IP bytes, Mbit/s. */
  rate_mbps: number;
}

/** Numbers of a variant over its repeats; each repeat has its own seed. */
export interface Repeats {
  /** Whether every repeat gave the same numbers because nothing in them was random; the intervals then have width 0 and carry no information. Absent: false. */
  identical?: boolean;
  /** Jain's fairness index; absent where `VariantResult::jain_index` is. */
  jain_index?: Estimate;
  /** Number of repeats. */
  n: number;
  /** Retransmitted packets of all flows. */
  retransmitted_packets: Estimate;
  /** Mean RTT, ms, of the TCP flow with the largest mean in each repeat; absent without TCP. */
  rtt_mean_ms?: Estimate;
  /** Seeds, in the order of the repeats. */
  seeds: number[];
  /** Sum of the flows' goodputs, Mbit/s. */
  total_goodput_mbps: Estimate;
  /** Values of each repeat, in the order of `seeds`, by measure: `goodput`, `rtt.p95`, `tcp.lost`, `upload.rtt.mean`. A measure is absent where a repeat has no value of it; with more than 16 flows only measures of all flows together are kept. Variants are compared by the differences of repeats with the same seed. */
  values: Record<string, number[]>;
}

/** Response times of a server, from the last byte of a request to the first byte of its response. */
export interface ResponseTimes {
  /** Answered requests, without those that had retransmissions and those that arrived while a response was being sent. */
  exchanges: number;
  /** The network's share, ms: the RTT of the handshake between client and server, else the minimum RTT of data; absent where neither is known. */
  network_ms?: number;
  /** The server's share of a response time, ms: the time seen at the capture minus the minimum RTT between capture and server. */
  server_ms: RttSummary;
  /** Sum of the server's shares, s. */
  server_s: number;
  /** Sum of the server's shares as a share of the flow's time, 0 to 1. */
  share: number;
}

/** A result on the page. */
export interface Result {
  /** Figures of each variant, in the order of `run.variants`. */
  figures: VariantFigures[];
  /** The result's name among several. */
  label: string;
  /** The result. */
  run: Run;
  /** Series of each variant, in the order of `run.variants`; null without samples. */
  series: (SeriesDirectory | null)[];
  /** The run's warnings, in the run's order. */
  warnings: { en: string; zh: string; }[];
}

/** A timeline of causes: each cause applies from its time on; the last time is the end. */
export interface Ribbon {
  /** Times, seconds. */
  at: number[];
  /** Indices into `causes`. */
  cause: number[];
}

/** Facts that RTP (RFC 3550) reveals, of the source with most packets. */
export interface RtpFacts {
  /** Rate of the timestamp clock, Hz; absent where it is not a known one. */
  clock_hz?: number;
  /** Packets that arrived twice. */
  duplicates: number;
  /** Interarrival jitter at the end of the flow, ms (RFC 3550 section 6.4.1); absent where the clock rate is unknown. */
  jitter_ms?: number;
  /** Packets that did not arrive: lost between sender and capture. */
  lost: number;
  /** Maximum of the interarrival jitter, ms; absent where the clock rate is unknown. */
  max_jitter_ms?: number;
  /** Packets of this source. */
  packets: number;
  /** Payload type. */
  payload_type: number;
  /** Packets that arrived after a later one. */
  reordered: number;
  /** Synchronisation source (SSRC). */
  ssrc: number;
}

/** RTTs or delays, ms; all zero without a sample (`RttSummary::is_empty`). */
export interface RttSummary {
  /** Maximum. */
  max: number;
  /** Mean. */
  mean: number;
  /** Minimum. */
  min: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
}

/** One run of a scenario: every variant, each with its flows and elements. With repeats (`--repeat N`) the numbers of variants, flows and elements are means over the repeats; counts are rounded to the nearest integer. A percentile is the mean of the repeats' percentiles: it says what to expect of one run, and is not the percentile of all samples pooled. Minima and maxima (`rtt_ms.min`, `rtt_ms.max`, `delay_ms.max`, `max_queue_packets`) are taken over all repeats. Confidence intervals are in `VariantResult::repeats` and `FlowResult::repeats`. */
export interface Run {
  /** The variant that the others are compared with; absent where none is chosen. */
  baseline?: string;
  /** The scenario's own description; absent where it has none. */
  description?: string;
  /** The expectations given with `--expect`, and whether each was met. */
  expectations?: Expectation[];
  /** The evidence for the headline and the cost of its advice: English sentences with their numbers. */
  facts?: string[];
  /** The goals by which variants are judged, the most important first. */
  goals?: Goal[];
  /** What is wrong and what to do: one English sentence of some twenty words. Absent where there is no flow. */
  headline?: string;
  /** Whether a run failed or was stopped, so that part of what was requested is missing. Absent: false. */
  partial?: boolean;
  /** The run's id, 32 hexadecimal digits: a hash of the program, the scenario, the settings and the outcome. Every file of a result carries it. Absent in results of older versions. */
  run_id?: string;
  /** Name of the scenario. */
  scenario: string;
  /** Name and version of the schema. */
  schema: "longfat-result/2";
  /** Seed of the first repeat. */
  seed: number;
  /** Variants in the scenario's order. A variant that ran on both clocks appears twice, the simulator's result first. */
  variants: VariantResult[];
  /** The warnings as data, in the order of `warnings`; absent in older results. */
  warning_data?: RunWarning[];
  /** Warnings, in English: settings of the scenario that are probably unintended, and reasons to distrust the numbers of this run. */
  warnings?: string[];
}

/** A warning as data: its kind, the key it is about and the values it names. */
export interface RunWarning {
  /** The scenario key that the warning is about, as `--set` takes it; absent where it is about no single key. */
  key?: string;
  /** Kind of warning: `small-bucket`, `unlimited` …; `trust` for a doubtful measurement on the kernel (`VariantResult::trust` holds the reasons). */
  kind: string;
  /** Values named in the warning's text, by placeholder. */
  values?: Record<string, string>;
  /** The variants that the warning applies to; absent where it applies to all. */
  variants?: string[];
}

/** Bands of one flow or element by column; `delivered_bytes` is goodput in Mbit/s. */
export interface SeriesBands {
  /** Bands by column. */
  bands: Record<string, Band>;
  /** Name of the flow or element. */
  name: string;
}

/** The directory of a variant's series; the bytes are in the script element `blob`. */
export interface SeriesDirectory {
  /** Bands over the repeats, if they differ. */
  bands?: Bands;
  /** Id of the script element that holds the columns. */
  blob: string;
  /** Size when decompressed. */
  bytes: number;
  /** Series of elements. */
  elements: ElementSeries[];
  /** Series of flows. */
  flows: FlowSeries[];
}

/** A key of the scenario with its value. */
export interface Setting {
  /** The key, with a dot for nested tables: `stack.mss`. */
  key: string;
  /** Name of the host, link, relay or flow; absent for keys of the run. */
  name?: string;
  /** The table with the key: `hosts`, `links`, `relays` or `flows`; absent for keys of the run. */
  section?: string;
  /** The value, spelled as in the scenario; names in a list are joined by commas. */
  value: string;
}

/** How the setup of a connection failed. */
export type SetupEnd = "unanswered" | "refused" | "unreachable" | "unfinished";

/** Statistics that the sending host's kernel kept of the socket (`TCP_INFO`); a number is absent where the kernel does not provide it. */
export interface SocketAccount {
  /** Share of the samples in which the application had written less than could be sent, 0 to 1. */
  app_limited_share?: number;
  /** Time with a full send buffer that was all sent, s, included in `busy_s`. */
  buffer_limited_s?: number;
  /** Time with data outstanding while observed, s. */
  busy_s?: number;
  /** Congestion window at the last sample, segments. */
  cwnd_packets?: number;
  /** Highest delivery rate of all samples, Mbit/s. */
  delivery_rate_mbps?: number;
  /** Minimum RTT, ms. */
  min_rtt_ms?: number;
  /** How long the socket was observed, s. */
  observed_s: number;
  /** Pacing rate at the last sample, Mbit/s of payload and headers. */
  pacing_rate_mbps?: number;
  /** Retransmitted segments since the start of the connection. */
  retransmitted_packets?: number;
  /** Number of samples. */
  samples: number;
  /** Size of the send buffer, bytes. */
  send_buffer_bytes?: number;
  /** Time limited by the receive window, s, included in `busy_s`. */
  window_limited_s?: number;
}

/** Behaviour of the spin bit. */
export type SpinBit = "unknown" | "spins" | "disabled";

/** The counters of one stage of the path, over all runs of a variant. */
export interface StageFigures {
  /** Dropped packets as a share of those that arrived, 0 to 1. */
  drop_share: number;
  /** Packets dropped. */
  dropped: number;
  /** Maximum queue, packets. */
  max_queue: number;
  /** No other stage dropped more packets. */
  worst: boolean;
}

/** A state of the congestion control and its share of the flow's lifetime. */
export interface StateTime {
  /** Number of times that the state was entered. */
  entered: number;
  /** Share of the flow's lifetime, 0 to 1. */
  share: number;
  /** Name of the state, as in `FlowSeries::states`. */
  state: string;
}

/** Durations of completed transfers, exchanges or pages, s. */
export interface TimesSummary {
  /** Number of completed ones. */
  count: number;
  /** Maximum. */
  max: number;
  /** Mean duration of the completed ones. */
  mean: number;
  /** Median. */
  p50: number;
  /** 95th percentile. */
  p95: number;
  /** 99th percentile. */
  p99: number;
  /** Number of those that had begun but not completed. */
  unfinished: number;
}

/** Packets that exceeded a size limit. */
export interface TooBigPackets {
  /** Whether the senders were notified (ICMP "fragmentation needed", RFC 1191); if not, this is a black hole (RFC 2923). */
  icmp_sent: boolean;
  /** Largest IP packet that did not fit, bytes. */
  largest_bytes: number;
  /** Largest IP packet that fits, bytes, without the headers that a tunnel adds. */
  mtu_bytes: number;
}

/** Hosts and the links between them. */
export interface Topology {
  /** Names of the hosts, in the scenario's order. */
  hosts: string[];
  /** Links, in the scenario's order. */
  links: PathLink[];
  /** Split-TCP relays. */
  relays?: PathRelay[];
}

/** A suspected effect and the gain of removing it. */
export interface TriedSuspect {
  /** Further places switched off together with `place`, as in `Limitation::also`. */
  also?: string[];
  /** The limited flow, as in `Limitation::flow`. */
  flow?: string;
  /** Gain of the first seed, as in `Limitation::gain`; below 1, the goal is met worse without the effect. Absent where it was not simulated. */
  gain?: number;
  /** Kind of effect. */
  kind: LimitationKind;
  /** Where the effect is, as in `Limitation::place`. */
  place: string;
}

/** Quality of a measurement on the kernel. */
export interface Trust {
  /** Time from when a host received TCP data until it next sent a packet, ms, where more data arrived meanwhile than one read accepts (64 kB); otherwise 0. A program that reads late opens the window late, and the ACKs of a burst are sent only after it (`__tcp_ack_snd_check`). */
  ack_delay_ms: OwnDelay;
  /** Mean time that a host's program waited for a CPU when it had work, ms, of the host that waited longest; absent where the system does not report it. */
  cpu_wait_ms?: number;
  /** Components of the run that died during the measurement, in the order in which they were found dead; the numbers are then not those of the scenario. */
  dead_components?: DeadComponent[];
  /** Packets dropped at a token bucket or full queue after the emulator had delayed them for longer than the queue or bucket holds at its rate. */
  emulator_burst_drops: number;
  /** CPU time of the emulator over the duration of the run, 0 to 1. */
  engine_cpu: number;
  /** Share of the machine's CPU time that was idle, 0 to 1; absent where the system does not report it. */
  idle?: number;
  /** Packets lost by the kernel's own queues during the measurement: at devices, at datagram sockets, and refused deliveries. */
  kernel_lost_packets: number;
  /** Lateness of the emulator, ms: from when a packet was due at the end of its link until its delivery. */
  lateness_ms: OwnDelay;
  /** Delay between a flow's scheduled start and its actual start, ms, of the flow that was started latest. */
  max_start_delay_ms: number;
  /** Packets that hosts sent into the path or lost before it: the base of the share of `kernel_lost_packets`. */
  offered_packets: number;
  /** Whether the emulator ran with real-time priority. */
  real_time: boolean;
  /** Reasons to distrust the measurement; empty where it is reliable. */
  reasons: TrustReason[];
  /** Whether there is no reason to distrust the measurement. */
  reliable: boolean;
  /** Share of CPU time that the hypervisor gave to other guests, 0 to 1; absent where the system does not report it. */
  steal?: number;
  /** Median of the datagrams' delay beyond that of the slowest through all elements of the path, ms; absent without datagrams. */
  unexplained_ms?: number;
  /** Upper bound of the time from when a host sent a packet until the emulator read it, ms. */
  waiting_ms: OwnDelay;
}

/** Kind of reason to distrust a measurement. */
export type TrustKind = "late" | "late-tail" | "unexplained" | "engine-busy" | "hosts-late" | "begun-late" | "acks-held" | "steal" | "kernel-loss" | "bunched" | "died";

/** A reason to distrust a measurement. */
export interface TrustReason {
  /** Bound that the measured value exceeds, in the same unit. */
  bound: number;
  /** Kind of reason. */
  kind: TrustKind;
  /** Measured value, in the unit of its kind. */
  measured: number;
}

/** Losses and delays of one direction of a UDP flow between the two captures. */
export interface UdpBetweenEnds {
  /** Datagrams that arrived. */
  arrived_packets: number;
  /** One-way delay above that minimum, ms: packet delay variation (RFC 5481). */
  delay_variation_ms: DelayVariation;
  /** Datagrams that arrived more than once. */
  duplicated_packets: number;
  /** Mean difference of the delays of two datagrams that arrived in succession, ms (D in RFC 3550); absent where fewer than two arrived. */
  jitter_ms?: number;
  /** Whether segmentation offload merged datagrams in one of the captures; losses are then unknown. */
  joined_by_offload: boolean;
  /** Longest run of consecutive lost datagrams. */
  longest_loss_packets: number;
  /** Times at which lost datagrams passed the capture on the sender's side, seconds since the first capture began; at most the first thousand. */
  lost_at_s: number[];
  /** Datagrams lost between the captures. */
  lost_packets: number;
  /** Maximum of the interarrival jitter of RFC 3550, ms; absent where fewer than two datagrams arrived. */
  max_jitter_ms?: number;
  /** Minimum one-way delay between the captures, ms, with the error of `clock_offset_error_ms`; absent where the clock offset is unknown, or nothing arrived. */
  min_delay_ms?: number;
  /** Delay and losses over time; intervals in which nothing was sent are omitted. */
  over_time: DelayVariationPart[];
  /** Datagrams that arrived after one that was sent later (RFC 4737). */
  reordered_packets: number;
  /** Datagrams of unknown fate: the other capture had not begun or had ended, or segmentation offload merged them in one of the captures. */
  unknown_packets: number;
}

/** The diagnosis of one direction between two UDP ports. */
export interface UdpFlowDiagnosis {
  /** Losses and delays between two captures of the path; absent where there is only one. */
  between_ends?: UdpBetweenEnds;
  /** Time from the first to the last datagram, s. */
  duration_s: number;
  /** Sending end, `address:port`. */
  from: string;
  /** The flow's id among the UDP flows: even for the end that sent first, odd for the other. */
  id: number;
  /** Bytes including IP headers. */
  ip_bytes: number;
  /** The rate limiter that the flow passes; absent where none shows. */
  limiter?: Limiter;
  /** Whether losses are known, and their source. */
  loss: UdpLoss;
  /** Datagrams lost; absent where unknown. */
  lost_packets?: number;
  /** Highest rate over half a second, Mbit/s of IP bytes; absent for shorter flows. */
  max_rate_mbps?: number;
  /** Rate over time. */
  over_time: UdpRate[];
  /** Datagrams. */
  packets: number;
  /** Payload bytes. */
  payload_bytes: number;
  /** Detected protocol: `quic`, `rtp` or `udp`. */
  protocol: string;
  /** Facts from QUIC's handshake; absent for other protocols. */
  quic?: QuicFacts;
  /** `ip_bytes` over the duration, Mbit/s. */
  rate_mbps: number;
  /** Facts from RTP's sequence numbers and timestamps; absent for other protocols. */
  rtp?: RtpFacts;
  /** RTTs measured by the spin bit, ms, including delays of the ends (RFC 9312 section 3.8.2); absent where the bit does not spin. */
  spin_rtt_ms?: RttSummary;
  /** First datagram, seconds since the capture began. */
  start_s: number;
  /** Receiving end, `address:port`. */
  to: string;
}

/** Source of knowledge about the losses of a UDP flow. */
export type UdpLoss = "not-visible" | "before-capture" | "qlog" | "both-ends";

/** Rate and losses in an interval. */
export interface UdpRate {
  /** Begin of the interval, seconds since the capture began. */
  from_s: number;
  /** Datagrams lost in the interval; absent where the times of losses are unknown. */
  lost_packets?: number;
  /** Rate of IP bytes, Mbit/s. */
  mbps: number;
  /** Length of the interval, s. */
  width_s: number;
}

/** Position of the capture, with its RTTs to both ends. */
export interface Vantage {
  /** At the sender, at the receiver or in between. */
  place: CapturePlace;
  /** Minimum RTT between capture and receiver, ms; absent where not measured. */
  to_receiver_ms?: number;
  /** Minimum RTT between capture and sender, ms; absent where not measured. */
  to_sender_ms?: number;
}

/** A variant's figures. */
export interface VariantFigures {
  /** Figures of all flows together. */
  all: Figures;
  /** Figures of each flow, in the variant's order. */
  flows: Figures[];
  /** The grouping that is shown by default. */
  grouped?: GroupBy;
  /** Figures of groups of flows, by the kind of grouping; without kinds that give a single group. */
  groups: Record<string, GroupFigures[]>;
  /** Figures of each stage, by `link.direction.stage`. */
  stages: Record<string, StageFigures>;
}

/** Results of one variant. */
export interface VariantResult {
  /** The clock that drove the variant. */
  clock: Clock;
  /** Times from start to last byte, s, of the finite flows that completed; absent where no flow is finite. */
  completion_s?: TimesSummary;
  /** Duration of the run, s: simulated or measured. */
  duration_s: number;
  /** Path elements in the order in which packets pass them. */
  elements: ElementResult[];
  /** Faults injected by the scenario, in its order; their effect on each flow is in `FlowResult::outages`. */
  faults?: FaultResult[];
  /** Flows in the scenario's order; a flow with a count of n appears as `name-1` … `name-n`. */
  flows: FlowResult[];
  /** Jain's fairness index over the flows' goodputs (TCP flows only, if there are any); for transfers of a fixed size, over size divided by own duration. Absent where equal shares cannot be expected: a single flow, flows measured one at a time, and flows that differ in application or size, share no direction of a link, have different rate limits, or did not start together (within a tenth of the lifetime of the longest). */
  jain_index?: number;
  /** The tightest rate limit that all flows share, Mbit/s; for a train's radio link and a repeating trace its mean, which a short run may exceed. Absent where there is none, or where the limit varies in another manner. */
  limit_mbps?: number;
  /** How `limited_by` was searched for; absent where it was not. */
  limitation_search?: LimitationSearch;
  /** What limits the flows of this variant, the largest gain first; only for the baseline, and only where a headline was requested. Found by simulated runs, even where the variant itself ran on the kernel. */
  limited_by?: Limitation[];
  /** Begin and end of the interval over which every rate of this variant counts, s since the start of the run: the scenario's `measure`; by default from the first start of a flow until all flows are done or the run ends. Where flows were measured one at a time, each rate counts over the interval of its own run, and this reaches from the first to the last. */
  measured_s: [number, number];
  /** Name of the variant. */
  name: string;
  /** Whether each flow was measured alone, in a run of its own; elements are then named `element@flow`. Absent: false. */
  one_at_a_time?: boolean;
  /** Load times of whole pages, s, over all flows; absent where no flow loads pages. */
  page_s?: TimesSummary;
  /** Hosts, links and stages that the packets pass; absent where unknown, as for a capture. */
  path?: Topology;
  /** Means and confidence intervals; absent where the variant ran once. */
  repeats?: Repeats;
  /** Response times, s, from request to last byte of the answer, over all flows; absent where no flow sends requests. */
  response_s?: TimesSummary;
  /** Settings of the scenario other than the path's stages that differ from the defaults; absent in older results. */
  settings?: Setting[];
  /** Goodput of all TCP flows together, Mbit/s; absent where there are none. */
  tcp_goodput_mbps?: number;
  /** Sum of the flows' goodputs, Mbit/s. All count over the same interval, so the sum does not exceed the path's capacity, except where flows were measured one at a time. */
  total_goodput_mbps: number;
  /** Whether the measurement can be trusted, the worst of several runs. Absent for simulated variants. */
  trust?: Trust;
  /** Goodput of all datagram flows together, Mbit/s; absent where there are none. */
  udp_goodput_mbps?: number;
}
