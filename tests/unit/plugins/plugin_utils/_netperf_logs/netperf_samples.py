# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small netperf outputs in every form that netperf 2.4 to 2.7 prints, and what they mean: (name,
text, expected).

The expected value is one dictionary a run; only its keys are compared. Every sample is whole, so
tests may also cut it.
"""

from __future__ import annotations

ADDRESSES = "from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 198.18.0.2 () port 0 AF_INET"
STREAM_HEAD = """Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    {0}

"""
STREAM_CPU_HEAD = """Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    {0}  % S      % S      us/KB   us/KB

"""
RR_HEAD = """Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

"""
RR_CPU_HEAD = """Local /Remote
Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem
Send   Recv   Size    Size   Time    Rate     local  remote local   remote
bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr

"""
UDP_HEAD = """Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   {0}

"""
UDP_CPU_HEAD = """Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   {0} % SS     us/KB

"""
WARNING = """!!! WARNING
!!! Desired confidence was not achieved within the specified iterations.
!!! This implies that there was variability in the test environment that
!!! must be investigated before going further.
!!! Confidence intervals: Throughput      : {0}%
!!!                       Local CPU util  : {1}%
!!!                       Remote CPU util : {2}%

"""
DETAILS = """
Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs
Local  Remote  Local  Remote  Xfered   Per                 Per
Send   Recv    Send   Recv             Send (avg)          Recv (avg)
    8       8      0       0 614612992  16384.00     37513   92145.88   6670

Maximum
Segment
Size (bytes)
  1448
"""
RR_DETAILS = """Alignment      Offset         RoundTrip  Trans    Throughput
Local  Remote  Local  Remote  Latency    Rate     10^6bits/s
Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound
    8      0       0      0   2015.402   3473.252 910.492    910.492
"""
HISTOGRAM = """Histogram of request/response times
UNIT_USEC     :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
HUNDRED_USEC  :    0: 34480:  111:   13:   12:    6:    9:    3:    4:    7
>100_SECS: 0
HIST_TOTAL:      34641
"""
HUMAN = """Local       Remote      Local  Elapsed Throughput Throughput  Result
Send Socket Recv Socket Send   Time               Units       Tag
Size        Size        Size   (sec)
Final       Final
4194304     12582912    16384  1.01    5909.93    10^6bits/s  run 1

Local  Local
CPU    Service
Util   Demand
%
100.00 2.772
"""


def banner(header, end=""):
    return f"{header} {ADDRESSES}{end}\n"


STREAM = {
    "test": "TCP_STREAM",
    "throughput_mbps": 941.5,
    "throughput": 941.5,
    "throughput_unit": "10^6bits/sec",
    "elapsed_s": 10.01,
    "recv_socket_size": 131072,
    "send_socket_size": 16384,
    "message_size": 65536,
    "local_cpu_percent": None,
    "remote_cpu_percent": None,
    "local_service_demand": None,
    "remote_service_demand": None,
    "transactions_per_s": None,
    "throughput_sent_mbps": None,
    "confidence_met": None,
    "confidence_width": {},
    "error": None,
    "line": 1,
    "interim": [],
    "selectors": {},
}
STREAM_ROW = "131072  16384  65536    10.01     941.50   \n"
STREAM_CPU_ROW = "131072  16384  65536    10.01       941.50   12.34    56.78    1.234   5.678  \n"
STREAM_CPU = {
    "throughput": 941.5,
    "local_cpu_percent": 12.34,
    "remote_cpu_percent": 56.78,
    "local_service_demand": 1.234,
    "remote_service_demand": 5.678,
    "error": None,
}
RR_ROWS = "16384  131072 1        64      10.00    35591.53   \n16384  87380 \n"
RR = {
    "test": "TCP_RR",
    "throughput_mbps": None,
    "throughput": 35591.53,
    "throughput_unit": "per sec",
    "elapsed_s": 10.0,
    "transactions_per_s": 35591.53,
    "recv_socket_size": 131072,
    "send_socket_size": 16384,
    "message_size": 1,
    "selectors": {"REQUEST_SIZE": 1, "RESPONSE_SIZE": 64, "RSS_SIZE": 16384, "RSR_SIZE": 87380},
}
UDP_ROWS = (
    "212992   65507   1.00         8100      3    4244.07\n"
    "229376           1.00         5480           2871.30\n\n"
)
UDP = {
    "test": "UDP_STREAM",
    "throughput_mbps": 2871.3,
    "throughput_sent_mbps": 4244.07,
    "throughput": 2871.3,
    "elapsed_s": 1.0,
    "recv_socket_size": 229376,
    "send_socket_size": 212992,
    "message_size": 65507,
    "selectors": {"LOCAL_SEND_CALLS": 8100, "FAILED_SENDS": 3, "REMOTE_RECV_CALLS": 5480},
}

CLASSIC = [
    (
        "stream",
        banner("MIGRATED TCP STREAM TEST") + STREAM_HEAD.format("10^6bits/sec") + STREAM_ROW,
        [STREAM],
    ),
    (
        "stream of 2.3",
        "TCP STREAM TEST to 198.18.0.2\n" + STREAM_HEAD.format("10^6bits/sec") + STREAM_ROW,
        [STREAM],
    ),
    (
        "maerts",
        banner("MIGRATED TCP MAERTS TEST") + STREAM_HEAD.format("10^6bits/sec") + STREAM_ROW,
        [{"test": "TCP_MAERTS", "throughput_mbps": 941.5, "recv_socket_size": 131072}],
    ),
    (
        "CPU",
        banner("MIGRATED TCP STREAM TEST") + STREAM_CPU_HEAD.format("10^6bits/s") + STREAM_CPU_ROW,
        [dict(STREAM_CPU, throughput_unit="10^6bits/s")],
    ),
    (
        "CPU of one end",
        banner("MIGRATED TCP STREAM TEST")
        + STREAM_CPU_HEAD.format("10^6bits/s")
        + "131072  16384  65536    10.01       941.50   12.34    -1.00    1.234   -1.000 \n",
        [dict(STREAM_CPU, remote_cpu_percent=None, remote_service_demand=None)],
    ),
    (
        "negative CPU is passed on as printed, the unit is two words",
        banner("TCP STREAM TEST", " : demo")
        + STREAM_CPU_HEAD.format("MBytes  /s")
        + " 87380  16384  16384    10.00       140.06   -3429.75   -5459.89   -478.264  -761.357\n",
        [
            {
                "throughput": 140.06,
                "throughput_unit": "MBytes/s",
                "throughput_mbps": 1174.908436,
                "local_cpu_percent": -3429.75,
                "remote_cpu_percent": -5459.89,
                "remote_service_demand": -761.357,
            }
        ],
    ),
    (
        "request/response",
        banner("MIGRATED TCP REQUEST/RESPONSE TEST", " : first burst 0") + RR_HEAD + RR_ROWS,
        [RR],
    ),
    (
        "request/response with CPU",
        banner("MIGRATED UDP REQUEST/RESPONSE TEST")
        + RR_CPU_HEAD
        + "16384  131072 1       1      1.00    43053.61  99.00  98.10  46.454  46.054 brand\n16384  131072\n",
        [
            {
                "test": "UDP_RR",
                "transactions_per_s": 43053.61,
                "local_cpu_percent": 99.0,
                "remote_cpu_percent": 98.1,
                "local_service_demand": 46.454,
                "remote_service_demand": 46.054,
            }
        ],
    ),
    (
        "request/response in bits",
        banner("MIGRATED TCP REQUEST/RESPONSE TEST")
        + RR_HEAD.replace("Trans.", "")
        .replace("Rate", "Throughput")
        .replace("per sec", "10^3bits/sec")
        + RR_ROWS,
        [
            {
                "throughput_mbps": 35.59153,
                "throughput_unit": "10^3bits/sec",
                "transactions_per_s": None,
            }
        ],
    ),
    (
        "request/response in bytes with CPU",
        banner("MIGRATED TCP REQUEST/RESPONSE TEST")
        + RR_CPU_HEAD.replace("Trans.", "Tput  ")
        .replace("Rate    ", "MBytes  ")
        .replace("us/Tr", "us/KB")
        + "16384  131072 1       1      1.00    0.10    99.50  99.50  18945.629  18945.629 \n16384  131072\n",
        [
            {
                "throughput": 0.1,
                "throughput_unit": "MBytes/s",
                "throughput_mbps": 0.838861,
                "transactions_per_s": None,
            }
        ],
    ),
    (
        "connect/request/response, connect/close",
        banner("MIGRATED TCP Connect/Request/Response TEST")
        + RR_HEAD
        + RR_ROWS
        + banner("TCP Connect/Close TEST")
        + RR_HEAD
        + RR_ROWS,
        [
            {"test": "TCP_CRR", "transactions_per_s": 35591.53},
            {"test": "TCP_CC", "transactions_per_s": 35591.53},
        ],
    ),
    ("UDP", banner("MIGRATED UDP STREAM TEST") + UDP_HEAD.format("10^6bits/sec") + UDP_ROWS, [UDP]),
    (
        "UDP of 2.4",
        banner("UDP UNIDIRECTIONAL SEND TEST") + UDP_HEAD.format("10^6bits/sec") + UDP_ROWS,
        [UDP],
    ),
    (
        "UDP with CPU",
        banner("MIGRATED UDP STREAM TEST")
        + UDP_CPU_HEAD.format("10^6bits/sec")
        + "212992   65507   1.00         8094      0     4236.1     99.00    3.868 \n"
        "212992           1.00         6191            3240.2     -1.00    -1.000 \n\n",
        [
            {
                "throughput_mbps": 3240.2,
                "throughput_sent_mbps": 4236.1,
                "local_cpu_percent": 99.0,
                "remote_cpu_percent": None,
                "local_service_demand": 3.868,
                "remote_service_demand": None,
            }
        ],
    ),
    (
        "details and histogram",
        banner("MIGRATED TCP STREAM TEST")
        + STREAM_CPU_HEAD.format("10^6bits/s")
        + STREAM_CPU_ROW
        + DETAILS
        + HISTOGRAM,
        [dict(STREAM_CPU, selectors={"TRANSPORT_MSS": 1448})],
    ),
    (
        "details of a request/response in bits",
        banner("MIGRATED TCP REQUEST/RESPONSE TEST")
        + RR_HEAD.replace("per sec", "10^6bits/sec")
        + RR_ROWS
        + RR_DETAILS
        + HISTOGRAM,
        [{"throughput_mbps": 35591.53, "transactions_per_s": 3473.252}],
    ),
    (
        "segment size",
        banner("TCP MSS TEST") + "Maximum\nSegment\nSize (bytes)\n\n1448 \n",
        [
            {
                "test": "TCP_MSS",
                "throughput": None,
                "error": None,
                "selectors": {"TRANSPORT_MSS": 1448},
            }
        ],
    ),
    (
        "confidence not met",
        banner("MIGRATED TCP STREAM TEST", " : +/-2.500% @ 99% conf. ")
        + WARNING.format("2.030", "5.593", "1.878")
        + STREAM_CPU_HEAD.format("10^6bits/s")
        + STREAM_CPU_ROW,
        [
            dict(
                STREAM_CPU,
                confidence_met=False,
                confidence_limit=2.5,
                confidence_width={"throughput": 2.03, "local_cpu": 5.593, "remote_cpu": 1.878},
            )
        ],
    ),
    (
        "confidence met",
        banner("MIGRATED TCP STREAM TEST", " : +/-2.500% @ 99% conf.  on result only : demo")
        + STREAM_HEAD.format("10^6bits/sec")
        + STREAM_ROW,
        [dict(STREAM, confidence_met=True)],
    ),
    (
        "warning without a banner",
        WARNING.format(" 6.8", " 0.0", " 0.0") + STREAM_ROW,
        [
            {
                "test": None,
                "throughput": 941.5,
                "confidence_met": False,
                "line": 1,
                "confidence_width": {"throughput": 6.8, "local_cpu": 0.0, "remote_cpu": 0.0},
            }
        ],
    ),
    (
        "interim results",
        banner("MIGRATED TCP STREAM TEST", " : demo")
        + "Interim result:    5.41 MBytes/s over 1.35 seconds ending at 1308789765.848\n"
        "Interim result: 45126.36 MBytes/s over 0.314 seconds ending at 1795253957.622\n[...]\n"
        + STREAM_HEAD.format("10^6bits/sec")
        + STREAM_ROW,
        [
            {
                "throughput": 941.5,
                "interim": [
                    {
                        "throughput": 5.41,
                        "unit": "MBytes/s",
                        "seconds": 1.35,
                        "ending_at": 1308789765.848,
                    },
                    {
                        "throughput": 45126.36,
                        "unit": "MBytes/s",
                        "seconds": 0.314,
                        "ending_at": 1795253957.622,
                    },
                ],
            }
        ],
    ),
    (
        "no banner",
        "netperf -H b\n" + STREAM_HEAD.format("10^9bits/sec") + STREAM_ROW,
        [{"test": None, "throughput_mbps": 941500.0, "line": 2}],
    ),
    (
        "rows alone",
        STREAM_ROW + " 87380  16384  16384    10.03     234.90   this is test 4\n",
        [
            {
                "throughput": 941.5,
                "throughput_unit": None,
                "throughput_mbps": None,
                "recv_socket_size": 131072,
            },
            {"throughput": 234.9, "test": None, "line": 2},
        ],
    ),
    (
        "rows alone with CPU, of RR, of UDP",
        STREAM_CPU_ROW + "--\n" + RR_ROWS + "--\n" + UDP_ROWS,
        [
            STREAM_CPU,
            {"throughput": 35591.53, "transactions_per_s": None, "message_size": 1},
            {"throughput": 2871.3, "throughput_sent_mbps": None},
        ],
    ),
    (
        "rows under one header",
        banner("TCP STREAM TEST")
        + STREAM_HEAD.format("10^6bits/sec")
        + STREAM_ROW
        + "\n"
        + STREAM_ROW.replace("941.50", "934.00"),
        [STREAM, dict(STREAM, throughput_mbps=934.0, throughput=934.0, line=9)],
    ),
    (
        "lone numbers with brands",
        "9457.59 -b 0\n  109.97 aggregate 2\n",
        [
            {"throughput": 9457.59, "throughput_unit": None, "selectors": {"RESULT_BRAND": "-b 0"}},
            {"throughput": 109.97, "line": 2},
        ],
    ),
    (
        "a lone number below a banner",
        banner("MIGRATED TCP STREAM TEST") + " 941.50 \n",
        [{"test": "TCP_STREAM", "throughput": 941.5, "throughput_mbps": None, "error": None}],
    ),
    (
        "a lone service demand",
        banner("MIGRATED TCP STREAM TEST") + " 2.821 S \n",
        [
            {
                "throughput": None,
                "error": None,
                "local_service_demand": None,
                "selectors": {"SERVICE_DEMAND": 2.821},
            }
        ],
    ),
    (
        "no socket sizes",
        banner("TCP STREAM TEST", " : no control")
        + STREAM_HEAD.format("10^6bits/sec")
        + "    -1  32768  32768    60.00    1202.82\n",
        [{"recv_socket_size": None, "send_socket_size": 32768}],
    ),
    (
        "SCTP, DLPI, sockets of UNIX",
        banner("SCTP 1-TO-MANY STREAM TEST")
        + STREAM_HEAD.format("10^6bits/sec")
        + STREAM_ROW
        + banner("DLPI CO REQUEST/RESPONSE TEST")
        + RR_HEAD.replace("bytes  Bytes", "frames frames")
        + RR_ROWS
        + "DG UNIDIRECTIONAL SEND TEST\n"
        + UDP_HEAD.format("KBytes/sec")
        + UDP_ROWS,
        [
            {"test": "SCTP_STREAM_MANY"},
            {"test": "DLPI_CO_RR", "transactions_per_s": 35591.53},
            {"test": "DG_STREAM", "throughput_mbps": 23.52169},
        ],
    ),
]
OMNI = [
    (
        "key=value",
        banner("OMNI Send|Recv TEST")
        + "THROUGHPUT=59092.65\nTHROUGHPUT_UNITS=Trans/s\nREQUEST_SIZE=1\n",
        [
            {
                "test": "OMNI",
                "throughput": 59092.65,
                "throughput_unit": "Trans/s",
                "transactions_per_s": 59092.65,
                "throughput_mbps": None,
                "message_size": 1,
            }
        ],
    ),
    (
        "key=value with everything",
        banner("MIGRATED UDP STREAM TEST")
        + "DIRECTION=Send\nELAPSED_TIME=1.00\nTHROUGHPUT=4000.00\nTHROUGHPUT_UNITS=10^6bits/s\nLSS_SIZE=212992\n"
        "LSS_SIZE_END=425984\nRSR_SIZE=229376\nLOCAL_SEND_SIZE=65507\nLOCAL_CPU_UTIL=12.34\nREMOTE_CPU_UTIL=-1.00\n"
        "LOCAL_SD=3.868\nREMOTE_SD=-1.000\nREMOTE_CPU_PERCENT_SWINTR=-nan\nTRANSACTION_RATE=1.000\nP99_LATENCY=105\n"
        'LOCAL_SEND_THROUGHPUT=4200.00\nTRANSPORT_MSS=1448\nRESULT_BRAND=\nCOMMAND_LINE="netperf -H b"\n',
        [
            {
                "throughput_mbps": 4000.0,
                "throughput_sent_mbps": 4200.0,
                "elapsed_s": 1.0,
                "send_socket_size": 212992,
                "recv_socket_size": 229376,
                "message_size": 65507,
                "local_cpu_percent": 12.34,
                "remote_cpu_percent": None,
                "local_service_demand": 3.868,
                "remote_service_demand": None,
                "transactions_per_s": None,
                "selectors": {
                    "DIRECTION": "Send",
                    "ELAPSED_TIME": 1.0,
                    "THROUGHPUT": 4000.0,
                    "THROUGHPUT_UNITS": "10^6bits/s",
                    "LSS_SIZE": 212992,
                    "LSS_SIZE_END": 425984,
                    "RSR_SIZE": 229376,
                    "LOCAL_SEND_SIZE": 65507,
                    "LOCAL_CPU_UTIL": 12.34,
                    "REMOTE_CPU_UTIL": -1.0,
                    "LOCAL_SD": 3.868,
                    "REMOTE_SD": -1.0,
                    "REMOTE_CPU_PERCENT_SWINTR": None,
                    "TRANSACTION_RATE": 1.0,
                    "P99_LATENCY": 105,
                    "LOCAL_SEND_THROUGHPUT": 4200.0,
                    "TRANSPORT_MSS": 1448,
                    "RESULT_BRAND": None,
                    "COMMAND_LINE": "netperf -H b",
                },
            }
        ],
    ),
    (
        "key=value of what is received",
        banner("OMNI Receive TEST") + "THROUGHPUT=1.50\nTHROUGHPUT_UNITS=GBytes/s\n"
        "LSR_SIZE_END=131072\nRSS_SIZE_END=4194304\nREMOTE_SEND_SIZE=16384\n",
        [
            {
                "throughput_mbps": 12884.901888,
                "recv_socket_size": 131072,
                "send_socket_size": 4194304,
                "message_size": 16384,
            }
        ],
    ),
    (
        "key=value without banners",
        "THROUGHPUT=1.50\nDIRECTION=Send\nTHROUGHPUT=2.50\nDIRECTION=Receive\n",
        [{"throughput": 1.5, "test": None, "line": 1}, {"throughput": 2.5, "line": 3}],
    ),
    (
        "key=value with interim results",
        banner("OMNI Send TEST") + "NETPERF_INTERIM_RESULT[0]=5338.37\n"
        "NETPERF_UNITS[0]=10^6bits/s\nNETPERF_INTERVAL[0]=0.300\nNETPERF_ENDING[0]=1795253945.485\nTHROUGHPUT=5.00\n",
        [
            {
                "throughput": 5.0,
                "interim": [
                    {
                        "throughput": 5338.37,
                        "unit": "10^6bits/s",
                        "seconds": 0.3,
                        "ending_at": 1795253945.485,
                    }
                ],
            }
        ],
    ),
    (
        "confidence by selectors, the full width asked for",
        banner("OMNI TEST", " : +/-20.000% @ 99% conf.")
        + "THROUGHPUT=5826.23\nTHROUGHPUT_CONFID=34.827\nCONFIDENCE_INTERVAL=40.000000\nLOCAL_CPU_CONFID=-1.000\n"
        + banner("OMNI TEST", " : +/-20.000% @ 99% conf.")
        + "THROUGHPUT=4762.45\nTHROUGHPUT_CONFID=42.350\nCONFIDENCE_INTERVAL=40.000000\n",
        [
            {
                "confidence_met": True,
                "confidence_width": {"throughput": 34.827},
                "confidence_limit": 20.0,
            },
            {"confidence_met": False, "confidence_width": {"throughput": 42.35}},
        ],
    ),
    (
        "confidence by selectors, its +/- in a wrapped banner",
        banner("OMNI TEST").rstrip("\n") + "\n : +/-0.500% @ 99%\nconf.  : histogram\n"
        "Throughput,Throughput Confidence Width (%),Local CPU Confidence Width (%)\n55555.94,0.484,0.700\n",
        [
            {
                "confidence_met": False,
                "confidence_limit": 0.5,
                "confidence_width": {"throughput": 0.484, "local_cpu": 0.7},
            }
        ],
    ),
    (
        "CSV",
        banner("MIGRATED TCP CRR TEST".replace("CRR", "Connect/Request/Response"))
        + "11502.61,Trans/s,0.308,1795254004.737\nElapsed Time (sec),Throughput,Throughput Units\n"
        "1.00,11244.85,Trans/s\n",
        [
            {
                "test": "TCP_CRR",
                "transactions_per_s": 11244.85,
                "elapsed_s": 1.0,
                "interim": [
                    {
                        "throughput": 11502.61,
                        "unit": "Trans/s",
                        "seconds": 0.308,
                        "ending_at": 1795254004.737,
                    }
                ],
            }
        ],
    ),
    (
        "CSV wrapped, with more values than headers",
        banner("MIGRATED TCP STREAM TEST")
        + "Throughput,Throughput Units,90th Percentile\nLatency Microseconds,Confidence Iterations Run,"
        "Throughput Confidence\nWidth (%)\n2217.06,10^6bits/s,487,1,-1.000,-1\n",
        [
            {
                "throughput_mbps": 2217.06,
                "confidence_met": None,
                "selectors": {
                    "THROUGHPUT": 2217.06,
                    "THROUGHPUT_UNITS": "10^6bits/s",
                    "P90_LATENCY": 487,
                    "CONFIDENCE_ITERATION": 1,
                    "THROUGHPUT_CONFID": -1.0,
                },
            }
        ],
    ),
    (
        "CSV with rows under one header",
        'Result Tag,Throughput,Command Line\n"a, b",1.50,"netperf -s 1,2"\nc,2.50,x\n',
        [
            {
                "throughput": 1.5,
                "selectors": {
                    "RESULT_BRAND": "a, b",
                    "THROUGHPUT": 1.5,
                    "COMMAND_LINE": "netperf -s 1,2",
                },
            },
            {"throughput": 2.5, "line": 3},
        ],
    ),
    (
        "CSV without a header",
        "805.26,Receive\n828.54,10^6bits/s,Send\n",
        [
            {"throughput": 805.26, "throughput_unit": None},
            {"throughput": 828.54, "throughput_mbps": 828.54},
        ],
    ),
    (
        "columns",
        banner("MIGRATED TCP STREAM TEST") + HUMAN,
        [
            {
                "throughput_mbps": 5909.93,
                "elapsed_s": 1.01,
                "send_socket_size": 4194304,
                "recv_socket_size": 12582912,
                "message_size": 16384,
                "local_cpu_percent": 100.0,
                "local_service_demand": 2.772,
            }
        ],
    ),
    (
        "columns with empty lines of the header",
        banner("OMNI TEST") + "Throughput Throughput\n           Units\n\n\n60492.57   Trans/s\n",
        [{"transactions_per_s": 60492.57}],
    ),
]
# What goes wrong, and how captures spoil an output.
REFUSED = (
    "establish control: are you sure there is a netserver listening on 198.18.0.2 at port 12865?\n"
    "establish_control could not establish the control connection from 0.0.0.0 port 0 address family AF_UNSPEC"
    " to 198.18.0.2 port 12865 address family AF_INET\n"
)
TROUBLES = [
    (
        "no netserver, twice, once without the first letter",
        REFUSED + REFUSED[1:],
        [{"throughput": None, "line": 1, "test": None}, {"throughput": None, "line": 3}],
    ),
    (
        "unknown host",
        "resolve_host: could not resolve host 'x' port '(null)' af AF_UNSPEC\n\tgetaddrinfo returned -3 "
        "Temporary failure in name resolution\nNetperf could not resolve x as a host name\n"
        + STREAM_ROW,
        [{"throughput": None, "line": 1}, {"throughput": 941.5, "line": 4}],
    ),
    (
        "unknown option",
        "netperf: invalid option -- 'z'\n\nUsage: netperf [global options] -- [test options] \n"
        "    -l testlen        Specify test duration (>0 secs) (<0 bytes|trans)\n" + REFUSED,
        [{"error": "netperf: invalid option -- 'z'"}, {"line": 5}],
    ),
    (
        "unknown test",
        "The test you requested (X) is unknown to this netperf.\n"
        "Please verify that you have the correct test name, \n"
        "and that test family has been compiled into this netperf.\n" * 2,
        [{"line": 1}, {"line": 4}],
    ),
    (
        "no netperf",
        "bash: line 1: netperf: command not found\nsh: 1: netperf: not found\n",
        [{"line": 1}, {"line": 2}],
    ),
    (
        "no file of selectors",
        "Could not open output selection file 'X' errno 2\n",
        [{"error": "Could not open output selection file 'X' errno 2"}],
    ),
    (
        "an error in the test, stderr before the banner",
        "netperf: send_omni: send_data failed: Message too long\n"
        + banner("MIGRATED UDP STREAM TEST")
        + "send_data: data send error: Message too long (errno 90)\n",
        [
            {
                "test": "UDP_STREAM",
                "line": 1,
                "throughput": None,
                "error": "netperf: send_omni: send_data failed: Message too long; "
                "send_data: data send error: Message too long (errno 90)",
            }
        ],
    ),
    (
        "an error in the test, with errno",
        banner("MIGRATED TCP STREAM TEST") + "recv_response: partial response received: 0 bytes\n"
        "shutdown_control: no response received  errno 104\n====== Round 2 ======\n",
        [{"error": "recv_response: partial response received: 0 bytes"}],
    ),
    (
        "an error without a result",
        banner("TCP SENDFILE TEST") + "alloc_sendfile_buf_ring: specified file too small.\n"
        "file must be larger than send_width * send_size\n",
        [
            {
                "test": "TCP_SENDFILE",
                "error": (
                    "alloc_sendfile_buf_ring: specified file too small.; file must be "
                    "larger than send_width * send_size"
                ),
            }
        ],
    ),
    (
        "a warning before a result, another after it",
        banner("MIGRATED TCP STREAM TEST")
        + "catcher: timer popped with times_up != 0\n"
        + STREAM_HEAD.format("10^6bits/sec")
        + STREAM_ROW
        + "shutdown_control: no response received  errno 0\n",
        [STREAM],
    ),
    (
        "killed",
        banner("MIGRATED TCP STREAM TEST") + "Terminated\n",
        [{"error": "truncated before its result (Terminated)"}],
    ),
    (
        "no number",
        banner("MIGRATED TCP STREAM TEST")
        + STREAM_HEAD.format("10^6bits/sec")
        + "131072  16384  65536    0.00      -nan   \n",
        [{"error": "netperf printed no throughput", "elapsed_s": None}],
    ),
    (
        "no throughput",
        banner("OMNI TEST") + "LOCAL_CPU_UTIL=1.00\n",
        [{"error": "netperf printed no throughput"}],
    ),
    (
        "only what was sent",
        banner("UDP UNIDIRECTIONAL SEND TEST")
        + UDP_HEAD.format("10^6bits/sec")
        + UDP_ROWS.split("\n", maxsplit=1)[0]
        + "\n$ \n",
        [{"throughput": None, "throughput_sent_mbps": None, "selectors": {}}],
    ),
    (
        "a row broken off, the next run whole",
        banner("TCP STREAM TEST")
        + STREAM_HEAD.format("10^6bits/sec")
        + " 87380  16384   4096    -------------\n"
        + banner("TCP STREAM TEST")
        + STREAM_HEAD.format("10^6bits/sec")
        + STREAM_ROW,
        [
            {"error": "line 7: truncated in '87380  16384   4096    -------------'"},
            dict(STREAM, line=8),
        ],
    ),
    (
        "CPU columns broken off",
        banner("TCP STREAM TEST")
        + STREAM_CPU_HEAD.format("10^6bits/s")
        + "131072  16384  65536    10.01       941.50   12.34    56.78    1.234   5.67\n",
        [{"throughput": None}],
    ),
    (
        "quoted mail",
        "> "
        + banner("MIGRATED TCP STREAM TEST").replace(" to ", "\n> to ")
        + "".join(
            f"> {line}\n" for line in (STREAM_HEAD.format("10^6bits/sec") + STREAM_ROW).split("\n")
        ),
        [STREAM],
    ),
    (
        "glued to a prompt, escapes, carriage returns",
        "\x1b[01;32mroot@a\x1b[00m:~# "
        + (
            banner("MIGRATED TCP STREAM TEST") + STREAM_HEAD.format("10^6bits/sec") + STREAM_ROW
        ).replace("\n", "\r\n"),
        [STREAM],
    ),
    (
        "in JSON",
        '["'
        + (banner("OMNI TEST") + "Throughput,Throughput Units\n1.50,Trans/s\n").replace("\n", "\\n")
        + '", "'
        + (banner("OMNI TEST") + "THROUGHPUT=2.50\n").replace("\n", "\\n")
        + '"]\n',
        [{"transactions_per_s": 1.5, "line": 1}, {"throughput": 2.5, "line": 1}],
    ),
    (
        "prose and other numbers",
        "netperf: a benchmark\nrun_tests: failed\n"
        "It took 10.00 s.\n10.00 seconds, see below\nTCP STREAM TESTS\n"
        "1795254004\n12:00:01 all 0.05 0.00\nPATH=/usr/bin\nThroughput, latency\nResult\n",
        [],
    ),
    ("nothing", "", []),
]
CASES = CLASSIC + OMNI + TROUBLES
