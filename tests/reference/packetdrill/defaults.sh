#!/bin/sh
# The kernel as these scripts expect it.
sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1
sysctl -q net.ipv4.tcp_early_retrans=3 net.ipv4.tcp_recovery=1 net.ipv4.tcp_ecn=2
sysctl -q net.ipv4.tcp_rmem="4096 131072 6291456"
