// One cell of the twin's grid in ns-3: bulk TCP flows from A to B for 10 s, all started at t = 0.
//
//     A ==> R ==[ the cell's path, RTT/2 ]==> B
//     A <== R <=[ RTT/2, no limits        ]=== B
//
// All links are SimpleNetDevices: they have no header of their own, so every rate and bucket counts
// IP bytes, and a rate of zero is infinite, so only the cell's path takes time. Random loss
// and the policer are an ErrorModel where R receives from A; queues stand where R sends to B.
//
// Prints `goodput_mbps,retransmits,mean_rtt_ms,p95_rtt_ms`.
//
// The attributes are set to Linux's values where ns-3 has them: see `LikeLinux`. What ns-3 3.44 cannot do:
//
//   TSO, GRO     every segment is sent and received on its own; bursts are whatever one ACK allows.
//   RACK, TLP    loss is found by three duplicates or SACKed segments (RFC 6675); a lost
//                retransmission or a lost tail waits for the RTO.
//   F-RTO, undo  a spurious timeout keeps its reduced window; nothing is undone by timestamp or DSACK.
//   RTT          samples come from the timestamp option, in whole ms (Linux: us, of the packet's own
//                send time): most visible at 5 ms, and BBR's min_rtt and round trips are built on it.
//   HyStart      reads the smoothed RTT instead of each sample; the ACK train is compared with
//                the whole minimum RTT; Linux, unpaced, uses half of it.
//   quick ACKs   none: one ACK for two segments from the start; CUBIC counts bytes in slow start to
//                make up for it, Reno as well.
//   receiver     always advertises its whole 6 MiB: no autotuning, no window that grows with what
//                has been read; no SACK compression (Linux: one SACK per 1.1 ms).
//   BBR          no long-term sampling, hence no notice of policers; no TSO-sized quantum; ACK
//                aggregation is reset after 4096 bytes, where Linux counts 2^20 packets.
//   pacing       a timer between single segments; no burst allowance, no fq.
//   hosts        no TSQ, no qdisc, no interrupt or scheduling delay: the flows run in lockstep.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kMss = 1448; // + 32 TCP (timestamps) + 20 IPv4 = 1500
constexpr uint32_t kHeaders = 52;
constexpr uint16_t kPort = 5001;

struct Cell
{
    std::string path = "clean";
    uint64_t rate = 20'000'000; // bit/s
    uint64_t burst = 0;         // bytes
    uint32_t queue = 100;       // packets
    double rttMs = 30;
    double loss = 0;
    std::string cc = "cubic";
    uint32_t flows = 1;
    double seconds = 10;
};

/// Where R receives from A: random loss of data packets and, behind it, the policer.
class Ingress : public ErrorModel
{
  public:
    explicit Ingress(const Cell& cell)
        : m_loss(cell.loss),
          m_police(cell.path == "police"),
          m_rate(cell.rate),
          m_brim(cell.burst * kUnitsPerByte),
          m_tokens(m_brim), // starts full
          m_random(CreateObject<UniformRandomVariable>())
    {
    }

  private:
    // Tokens are counted in bit/s x ns, so that refilling on each arrival rounds nothing.
    static constexpr uint64_t kUnitsPerByte = 8'000'000'000;

    bool DoCorrupt(Ptr<Packet> packet) override
    {
        const bool data = packet->GetSize() > kHeaders + 12; // a SYN has up to 60 bytes
        if (m_loss > 0 && data && m_random->GetValue() < m_loss)
        {
            return true;
        }
        return m_police && !Conforms(packet->GetSize());
    }

    bool Conforms(uint64_t bytes)
    {
        const int64_t now = Simulator::Now().GetNanoSeconds();
        // Capped at the time that fills the bucket, which avoids an overflow.
        const uint64_t elapsed = std::min<uint64_t>(now - m_refilled, m_brim / m_rate + 1);
        m_tokens = std::min(m_brim, m_tokens + m_rate * elapsed);
        m_refilled = now;
        if (m_tokens < bytes * kUnitsPerByte)
        {
            return false;
        }
        m_tokens -= bytes * kUnitsPerByte;
        return true;
    }

    void DoReset() override
    {
    }

    double m_loss;
    bool m_police;
    uint64_t m_rate;
    uint64_t m_brim;
    uint64_t m_tokens;
    int64_t m_refilled = 0;
    Ptr<UniformRandomVariable> m_random;
};

/// What is measured at one sender's socket.
struct Flow
{
    Ptr<BulkSendApplication> app;
    SequenceNumber32 highest{0};
    uint64_t retransmits = 0;
    double srttMs = -1; // none yet

    void Connect()
    {
        Ptr<Socket> socket = app->GetSocket();
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::Sent, this));
        socket->TraceConnectWithoutContext("RTT", MakeCallback(&Flow::Measured, this));
    }

    // The socket's own "Retransmission" trace uses a mark that a timeout clears.
    void Sent(Ptr<const Packet> payload, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        if (payload->GetSize() == 0)
        {
            return;
        }
        const SequenceNumber32 seq = header.GetSequenceNumber();
        retransmits += seq < highest;
        highest = std::max(highest, seq + payload->GetSize());
    }

    void Measured(Time, Time srtt)
    {
        srttMs = srtt.GetSeconds() * 1e3;
    }
};

/// Every 10 ms the smoothed RTT of each flow that has one.
void
Sample(const std::vector<Flow>* flows, std::vector<double>* rtts)
{
    for (const Flow& flow : *flows)
    {
        if (flow.srttMs >= 0)
        {
            rtts->push_back(flow.srttMs);
        }
    }
    Simulator::Schedule(MilliSeconds(10), &Sample, flows, rtts);
}

void
LikeLinux(const Cell& cell)
{
    const TypeId control = cell.cc == "reno"    ? TcpLinuxReno::GetTypeId()
                           : cell.cc == "cubic" ? TcpCubic::GetTypeId()
                                                : TcpBbr::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(control));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(cell.cc == "bbr"));
    // BBR paces from the first segment on, at a rate computed from the handshake's RTT.
    Config::SetDefault("ns3::TcpSocketState::PaceInitialWindow", BooleanValue(cell.cc == "bbr"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(15));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(TcpSocketState::Off));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    // Linux: RTO = srtt + max(4 x variation, 200 ms). ns-3 adds max(4 x variation, granularity).
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(true));
    // Linux: the threshold is an eighth of the minimum RTT within 4 to 16 ms. ns-3 omits the
    // eighth and uses the whole RTT within these limits. A limit computed from the cell's RTT corrects that.
    const double eighth = std::clamp(cell.rttMs / 8, 4.0, 16.0);
    Config::SetDefault("ns3::TcpCubic::HyStartDelayMax", TimeValue(Seconds(eighth / 1e3)));
}

NetDeviceContainer
Wire(Ptr<Node> from, Ptr<Node> to, Time delay)
{
    SimpleNetDeviceHelper wire;
    wire.SetNetDevicePointToPointMode(true);
    wire.SetChannelAttribute("Delay", TimeValue(delay));
    wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    wire.DisableFlowControl(); // else ns-3 puts an FqCoDel in front of each
    NetDeviceContainer ends = wire.Install(NodeContainer(from, to));
    ends.Get(0)->SetMtu(1500);
    ends.Get(1)->SetMtu(1500);
    return ends;
}

/// Makes `device`, by which R sends to B, the cell's bottleneck.
void
Limit(const Cell& cell, Ptr<NetDevice> device)
{
    const std::string queue = std::to_string(cell.queue) + "p";
    PointerValue fifo;
    device->GetAttribute("TxQueue", fifo);
    Ptr<Queue<Packet>> tx = fifo.Get<Queue<Packet>>();
    if (cell.path == "clean" || cell.path == "loss")
    {
        // The packet in transmission is not in the queue, as with us.
        device->SetAttribute("DataRate", DataRateValue(DataRate(cell.rate)));
        tx->SetMaxSize(QueueSize(queue));
    }
    else if (cell.path == "shape")
    {
        // No peak rate: there is one bucket, full at first. It looks at the head of the queue and
        // lets it go when the bucket holds its size, waking up exactly then; tokens are whole bytes,
        // rounded to nearest once per packet. The device behind it has no rate and holds nothing up.
        TrafficControlHelper tbf;
        const uint16_t root = tbf.SetRootQueueDisc("ns3::TbfQueueDisc",
                                                   "Burst",
                                                   UintegerValue(cell.burst),
                                                   "Rate",
                                                   DataRateValue(DataRate(cell.rate)));
        const auto classes = tbf.AddQueueDiscClasses(root, 1, "ns3::QueueDiscClass");
        tbf.AddChildQueueDisc(root, classes[0], "ns3::FifoQueueDisc", "MaxSize", StringValue(queue));
        tbf.Install(device);
    }
    else if (cell.path == "fq-codel")
    {
        device->SetAttribute("DataRate", DataRateValue(DataRate(cell.rate)));
        // One packet in transmission, one behind it, the rest in the queue disc.
        tx->SetMaxSize(QueueSize("1p"));
        Ptr<NetDeviceQueueInterface> backpressure = CreateObject<NetDeviceQueueInterface>();
        backpressure->GetTxQueue(0)->ConnectQueueTraces(tx);
        device->AggregateObject(backpressure);
        TrafficControlHelper codel;
        codel.SetRootQueueDisc("ns3::FqCoDelQueueDisc",
                               "Target",
                               StringValue("5ms"),
                               "Interval",
                               StringValue("100ms"),
                               "Flows",
                               UintegerValue(1024),
                               "MaxSize",
                               StringValue("10240p"),
                               "UseEcn",
                               BooleanValue(false));
        QueueDiscContainer discs = codel.Install(device);
        DynamicCast<FqCoDelQueueDisc>(discs.Get(0))->SetQuantum(1514);
    }
}

/// What the cell asks for and cannot be had, or empty.
std::string
Wrong(const Cell& cell)
{
    auto among = [](const std::string& value, std::vector<std::string> known) {
        return std::find(known.begin(), known.end(), value) != known.end();
    };
    const bool bucket = cell.path == "police" || cell.path == "shape";
    if (!among(cell.path, {"police", "shape", "clean", "loss", "fq-codel"}))
    {
        return "no path '" + cell.path + "': police, shape, clean, loss or fq-codel";
    }
    if (!among(cell.cc, {"reno", "cubic", "bbr"}))
    {
        return "no congestion control '" + cell.cc + "': reno, cubic or bbr";
    }
    if (cell.rate == 0 || cell.rttMs <= 0 || cell.flows == 0 || cell.seconds <= 0)
    {
        return "rate, rtt, flows and seconds must be positive";
    }
    if (bucket && cell.burst < 1500)
    {
        return "a bucket of less than 1500 bytes lets nothing through";
    }
    if (!bucket && cell.path != "fq-codel" && cell.queue == 0)
    {
        return "a link needs a queue of at least one packet";
    }
    return "";
}

double
Mean(const std::vector<double>& values)
{
    double sum = 0;
    for (double value : values)
    {
        sum += value;
    }
    return sum / values.size();
}

/// The 95th percentile, nearest rank.
double
P95(std::vector<double> values)
{
    const size_t rank = (values.size() * 95 + 99) / 100;
    std::nth_element(values.begin(), values.begin() + (rank - 1), values.end());
    return values[rank - 1];
}

} // namespace

int
main(int argc, char** argv)
{
    Cell cell;
    uint32_t seed = 1;
    CommandLine cmd(__FILE__);
    cmd.AddValue("path", "police, shape, clean, loss or fq-codel", cell.path);
    cmd.AddValue("rate", "bit/s", cell.rate);
    cmd.AddValue("burst", "bucket of police and shape, bytes", cell.burst);
    cmd.AddValue("queue", "FIFO of shape, clean and loss, packets", cell.queue);
    cmd.AddValue("rtt", "base round-trip time, ms", cell.rttMs);
    cmd.AddValue("loss", "probability, data packets", cell.loss);
    cmd.AddValue("cc", "reno, cubic or bbr", cell.cc);
    cmd.AddValue("flows", "parallel flows", cell.flows);
    cmd.AddValue("seconds", "length of the run", cell.seconds);
    cmd.AddValue("seed", "of the random loss", seed);
    cmd.Parse(argc, argv);
    if (const std::string wrong = Wrong(cell); !wrong.empty())
    {
        std::fprintf(stderr, "cell: %s\n", wrong.c_str());
        return 2;
    }
    RngSeedManager::SetSeed(seed);
    LikeLinux(cell);

    NodeContainer nodes;
    nodes.Create(3);
    Ptr<Node> a = nodes.Get(0);
    Ptr<Node> r = nodes.Get(1);
    Ptr<Node> b = nodes.Get(2);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);

    NetDeviceContainer access = Wire(a, r, Time(0));
    NetDeviceContainer path = Wire(r, b, Seconds(cell.rttMs / 2e3));
    access.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(Create<Ingress>(cell)));
    Limit(cell, path.Get(0));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(access);
    addresses.NewNetwork();
    const Ipv4Address receiver = addresses.Assign(path).GetAddress(1);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper sinkHelper("ns3::TcpSocketFactory",
                                InetSocketAddress(Ipv4Address::GetAny(), kPort));
    ApplicationContainer sinks = sinkHelper.Install(b);
    sinks.Start(Seconds(0));
    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(receiver, kPort));
    sender.SetAttribute("MaxBytes", UintegerValue(0));
    // Whole segments: a write that straddles two makes ns-3 several times slower.
    sender.SetAttribute("SendSize", UintegerValue(kMss));
    std::vector<Flow> flows(cell.flows);
    for (Flow& flow : flows)
    {
        ApplicationContainer apps = sender.Install(a);
        apps.Start(Seconds(0));
        flow.app = DynamicCast<BulkSendApplication>(apps.Get(0));
        // The socket exists once the application has started; nothing but the SYN is missed.
        Simulator::Schedule(NanoSeconds(1), &Flow::Connect, &flow);
    }
    std::vector<double> rtts;
    Simulator::Schedule(MilliSeconds(10), &Sample, &flows, &rtts);

    Simulator::Stop(Seconds(cell.seconds));
    Simulator::Run();

    const uint64_t bytes = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    uint64_t retransmits = 0;
    for (const Flow& flow : flows)
    {
        retransmits += flow.retransmits;
    }
    if (rtts.empty())
    {
        std::fprintf(stderr, "cell: no flow was connected\n");
        return 1;
    }
    std::printf("%.4f,%llu,%.3f,%.3f\n",
                bytes * 8 / cell.seconds / 1e6,
                static_cast<unsigned long long>(retransmits),
                Mean(rtts),
                P95(rtts));
    std::fflush(stdout);
    Simulator::Destroy();
    return 0;
}
