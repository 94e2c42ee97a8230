#!/bin/sh
# A branch office: 20 Mbit/s up, voice first.
DEV=eth1
UP=20000
tc qdisc del dev $DEV root 2>/dev/null
tc qdisc add dev $DEV root handle 1: htb default 30
tc class add dev $DEV parent 1: classid 1:1 htb rate ${UP}kbit burst 15k
tc class add dev $DEV parent 1:1 classid 1:10 htb rate 2mbit prio 0
tc class add dev $DEV parent 1:1 classid 1:20 htb rate $((UP/2))kbit ceil ${UP}kbit prio 1
tc class add dev $DEV parent 1:1 classid 1:30 htb rate 12mbit ceil ${UP}kbit cburst 4mb prio 2
tc qdisc add dev $DEV parent 1:30 handle 30: fq_codel
tc filter add dev $DEV parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10
tc filter add dev $DEV parent 1: protocol ip prio 2 u32 match ip dport 443 0xffff flowid 1:20
tc qdisc add dev $DEV handle ffff: ingress
tc filter add dev $DEV parent ffff: protocol ip u32 match u32 0 0 police rate 50mbit burst 9k drop flowid :1
iptables -t mangle -A POSTROUTING -o $DEV -p udp --dport 5060 -j DSCP --set-dscp 46
