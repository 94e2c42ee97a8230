// The ns-3 side of longfat's speed benchmark.
//
// N bulk TCP CUBIC flows from node A to node B over one point-to-point link:
//
//     A ==[ drop-tail queue, RATE, RTT/2 ]==> B
//       <=[ drop-tail queue, RATE, RTT/2 ]==
//
// There is no queue disc in front of the device queue (ns-3 would otherwise
// install FqCoDel) and no flow control between the two, so the drop-tail
// queue of A's device is the bottleneck, and TCP gets no notice of its drops.
//
// Prints one line of JSON. `cpu_seconds` is the user and system time of
// Simulator::Run alone; `delivered_packets` is the payload handed to the
// receiving applications, in units of the MSS.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace ns3;

namespace
{

constexpr uint32_t kMss = 1448;          // + 32 TCP (timestamps) + 20 IPv4 = 1500
constexpr uint32_t kPacketBytes = 1500;  // used to turn one BDP into packets
constexpr uint16_t kPort = 5001;

double
CpuSeconds(const rusage& usage)
{
    auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

rusage
Usage()
{
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0)
    {
        std::perror("getrusage");
        std::exit(1);
    }
    return usage;
}

} // namespace

int
main(int argc, char** argv)
{
    uint32_t flows = 1;
    DataRate rate("100Mbps");
    Time rtt = MilliSeconds(40);
    uint32_t queue = 0;
    double seconds = 10.0;
    uint32_t seed = 1;
    uint32_t buffer = 64u << 20;
    uint32_t sendSize = 0;
    Time minRto = Seconds(1);

    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "number of TCP flows", flows);
    cmd.AddValue("rate", "link rate, e.g. 100Mbps, 1Gbps", rate);
    cmd.AddValue("rtt", "two-way propagation delay, e.g. 40ms", rtt);
    cmd.AddValue("queue", "bottleneck queue in packets; 0: one BDP of 1500-byte packets", queue);
    cmd.AddValue("seconds", "simulated seconds", seconds);
    cmd.AddValue("seed", "seed of the flows' start times", seed);
    cmd.AddValue("buffer", "send and receive buffer of each socket, bytes", buffer);
    cmd.AddValue("send-size", "bytes per write of the sending application; 0: the faster choice", sendSize);
    cmd.AddValue("min-rto", "TCP's minimum RTO (ns-3's own default is 1s)", minRto);
    cmd.Parse(argc, argv);

    if (flows == 0 || rate.GetBitRate() == 0 || !rtt.IsStrictlyPositive() || !(seconds > 0.0) ||
        seed == 0)
    {
        std::fprintf(stderr, "dumbbell: --flows, --rate, --rtt, --seconds and --seed must be positive\n");
        return 2;
    }
    if (queue == 0)
    {
        const double bdp = rate.GetBitRate() / 8.0 * rtt.GetSeconds() / kPacketBytes;
        queue = static_cast<uint32_t>(std::fmax(1.0, std::round(bdp)));
    }
    if (sendSize == 0)
    {
        // ns-3 keeps every write as a packet of its own and fills the send
        // buffers at once. Writes of one MSS are the cheapest to send, but fill
        // 1000 buffers of 64 MB with 46 million packets (13 GB), so that many
        // flows are better off with large writes. Those must be a multiple of
        // the MSS: a write that straddles segments makes ns-3 up to six times
        // slower.
        const uint64_t total = uint64_t{flows} * buffer;
        sendSize = total <= (uint64_t{1} << 30) ? kMss : 724 * kMss;
    }
    RngSeedManager::SetSeed(seed);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(minRto));

    NodeContainer nodes;
    nodes.Create(2);

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(rtt / 2));
    link.SetQueue("ns3::DropTailQueue",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    link.DisableFlowControl();
    NetDeviceContainer devices = link.Install(nodes);

    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    // Assigning addresses gives a device with flow control a default queue disc
    // (FqCoDel). These devices have no flow control, so there should be none.
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        Ptr<NetDevice> device = devices.Get(i);
        Ptr<TrafficControlLayer> tc = device->GetNode()->GetObject<TrafficControlLayer>();
        NS_ABORT_MSG_UNLESS(tc, "a node has no traffic control layer");
        if (tc->GetRootQueueDiscOnDevice(device))
        {
            tc->DeleteRootQueueDiscOnDevice(device);
        }
        NS_ABORT_MSG_IF(tc->GetRootQueueDiscOnDevice(device),
                        "a queue disc sits in front of the device queue");
    }

    PacketSinkHelper sinkHelper("ns3::TcpSocketFactory",
                                InetSocketAddress(Ipv4Address::GetAny(), kPort));
    ApplicationContainer sinks = sinkHelper.Install(nodes.Get(1));
    sinks.Start(Seconds(0));

    // Flows start within the first RTT so that they are not in lockstep.
    Ptr<UniformRandomVariable> startTime = CreateObject<UniformRandomVariable>();
    BulkSendHelper sender("ns3::TcpSocketFactory",
                          InetSocketAddress(interfaces.GetAddress(1), kPort));
    sender.SetAttribute("MaxBytes", UintegerValue(0));
    sender.SetAttribute("SendSize", UintegerValue(sendSize));
    for (uint32_t i = 0; i < flows; ++i)
    {
        sender.Install(nodes.Get(0)).Start(
            Seconds(startTime->GetValue(0.0, rtt.GetSeconds())));
    }

    Simulator::Stop(Seconds(seconds));
    const rusage before = Usage();
    Simulator::Run();
    const rusage after = Usage();

    const uint64_t bytes = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    const uint64_t dropped = DynamicCast<PointToPointNetDevice>(devices.Get(0))
                                 ->GetQueue()
                                 ->GetTotalDroppedPackets();
    std::printf("{\"simulator\":\"ns-3\",\"delivered_packets\":%llu,\"goodput_mbps\":%.3f,"
                "\"cpu_seconds\":%.6f,\"max_rss_kb\":%ld,\"dropped_packets\":%llu,"
                "\"events\":%llu,\"flows\":%u,\"rate_mbps\":%.3f,\"rtt_ms\":%.3f,"
                "\"queue_packets\":%u,\"seconds\":%g,\"seed\":%u,"
                "\"buffer_bytes\":%u,\"send_size\":%u,\"min_rto_ms\":%.3f}\n",
                static_cast<unsigned long long>(bytes / kMss),
                bytes * 8.0 / seconds / 1e6,
                CpuSeconds(after) - CpuSeconds(before),
                after.ru_maxrss,
                static_cast<unsigned long long>(dropped),
                static_cast<unsigned long long>(Simulator::GetEventCount()),
                flows,
                rate.GetBitRate() / 1e6,
                rtt.GetSeconds() * 1e3,
                queue,
                seconds,
                seed,
                buffer,
                sendSize,
                minRto.GetSeconds() * 1e3);
    std::fflush(stdout);
    Simulator::Destroy();
    return 0;
}
