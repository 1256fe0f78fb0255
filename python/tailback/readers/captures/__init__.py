"""Captures as traffic: the frames of pcap and pcapng, down to TCP and UDP, flow by flow."""
