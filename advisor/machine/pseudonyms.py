"""Replaces what names a machine or a person: host names, addresses, serial numbers, and any word that is not of the trade."""

import ipaddress
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from urllib.parse import quote

_HEX = "[0-9a-fA-F]"
_ALONE = r"(?<![0-9A-Za-z:.])"
_END = r"(?![0-9A-Za-z]|[:.][0-9A-Za-z])"
# Six bytes of an Ethernet address, eight of an EUI-64, twenty of IP over InfiniBand.
_MAC = re.compile(rf"{_ALONE}(?:{_HEX}{{2}}:){{5,19}}{_HEX}{{2}}{_END}|(?<![\w-])(?:{_HEX}{{2}}-){{5,7}}{_HEX}{{2}}(?![\w-])")
_GUIDS = re.compile(rf"{_ALONE}(?:{_HEX}{{4}}:){{3}}(?:(?:{_HEX}{{4}}:){{4}})?{_HEX}{{4}}{_END}")
_HEX_GUID = re.compile(rf"(?i)(guid[^\n]{{0,24}}?0x)({_HEX}{{16}})(?!{_HEX})")
_UUID = re.compile(rf"(?<!{_HEX}){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?!{_HEX})")
_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\w)")
_IPV6 = re.compile(rf"{_ALONE}(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}}(?![0-9A-Za-z:]|\.[0-9A-Za-z])")
_ENX = re.compile(rf"\benx({_HEX}{{12}})\b")
# A firmware's 214.0.253.1 looks like an address; the word before it says what it is.
_VERSION_TEXT = re.compile(r"(?i)(?:version|firmware|driver|release|revision|ver|fw|rev)[\w -]{0,12}[\s\"=:]{0,8}(?:value=\")?$")
_SERIAL_WORDS = r"serial(?: ?(?:number|no))?|asset ?tag|service ?tag|part ?sn|\[sn\][^\n:=]{0,20}"
_SERIAL = re.compile(rf"(?im)^([^\n:=]{{0,60}}(?:{_SERIAL_WORDS})[ \t]*[:=][ \t]*)(\S[^\n]*)$")
# scontrol shows every node of the cluster, and what its administrators wrote about it.
_SLURM_NODE = re.compile(r"\b(Node(?:Name|Addr|HostName)=)(\S+)")
_SLURM_NOTE = re.compile(r"\b((?:Reason|Comment|Extra|Owner)=)[^\n]*")
_STEM = re.compile(r"[A-Za-z](?:[A-Za-z_.-]*[A-Za-z_.-])?")
_INFO = re.compile(r'(<info\s+name="([^"]{1,100})"\s+value=")([^"]*)(")')
_SECRET_INFO = re.compile(r"Serial|UUID|AssetTag|Asset_Tag|ServiceTag|^CommandLine$", re.IGNORECASE)
# Host names that are words of the trade: taking them out would take the machine's description apart.
_TRADE = (
    "localhost node none unknown linux system default cpu gpu core numa socket memory amd intel epyc xeon nvidia arm dell hpe"
)
_PLAIN_NAMES = frozenset(_TRADE.split())
REMOVED = "removed"
"""What stands for a name; for a credential it is withheld."""
_LONG = 5
"""Letters from which on a word is looked for in other writings: of fewer, chance makes too many."""
_SHORT = 4096


def stems(names: str) -> str:
    """Return a list of host names with each called node, its numbers as they are.

    >>> stems("cn[001-004],login2")
    'node[001-004],node2'
    """
    return _STEM.sub("node", names)


def _tellable(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that can be distinguished from the trade's own, the longest first."""
    told = {word for word in words if len(word) >= 3 and not word.isdigit() and word.lower() not in _PLAIN_NAMES}
    return tuple(sorted(told, key=lambda word: (-len(word), word)))


def _whole(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds the words where nothing is joined to them."""
    each = "|".join(re.escape(word) for word in words)
    return re.compile(rf"(?i)(?<![A-Za-z0-9])(?:{each})(?![A-Za-z0-9])") if words else None


def _written(words: Iterable[str]) -> re.Pattern[str] | None:
    """Return what finds longer words in hexadecimal digits, in base64, escaped as in a URL, and backwards."""
    found: set[str] = set()
    for word in words:
        if len(word) < _LONG:
            continue
        for each in {word, word.lower(), word.upper()}:
            for raw in (each.encode(), each.encode("utf-16-le")):
                found |= {raw.hex(), *_base64(raw)}
        found |= {"".join(f"%{byte:02x}" for byte in word.encode()), quote(word, safe=""), word[::-1]} - {word}
    each = "|".join(re.escape(form) for form in sorted(found, key=lambda form: (-len(form), form)))
    return re.compile(rf"(?i){each}") if found else None


def _base64(raw: bytes) -> set[str]:
    """Return what of base64 a text makes wherever it stands among others: three alignments, without the letters at their ends."""
    pieces = set()
    for shift in range(3):
        text = b64encode(b"\0" * shift + raw).decode().rstrip("=")
        first, last = (0, 2, 3)[shift], len(text) - (1 if (shift + len(raw)) % 3 else 0)
        pieces.add(text[first:last])
    return {piece for piece in pieces if len(piece) >= _LONG}


class Scrubber:
    """Stands others in for names and addresses, counted up as they are met."""

    def __init__(self, host_names: tuple[str, ...] = (), others: Iterable[str] = ()) -> None:
        self._seen: dict[str, dict[str, int]] = {}
        self._host = _whole(_tellable({word for name in host_names for word in (name, name.partition(".")[0])}))
        learned = _tellable(others)
        self._others = _whole(learned)
        self._written = _written((*learned, *_tellable(host_names)))
        self._clean: dict[str, str] = {}

    def text(self, text: str, *, addresses: bool = True) -> str:
        """Return the text without identifiers, serial numbers and the host's name; IPv4 addresses only if asked."""
        text = _SERIAL.sub(lambda match: match[1] + REMOVED, text)
        text = _INFO.sub(self._info, text)
        text = self.names(text)
        text = _HEX_GUID.sub(lambda match: match[1] + self._guid(match[2]).replace(":", ""), text)
        text = _GUIDS.sub(lambda match: self._guids(match[0]), text)
        text = _MAC.sub(lambda match: self._mac(match[0]), text)
        text = _IPV6.sub(lambda match: self._ipv6(match[0]), text)
        text = _IPV4.sub(self._ipv4, text) if addresses else text
        text = self._without_names(text)
        text = _SLURM_NODE.sub(lambda match: match[1] + stems(match[2]), text)
        return _SLURM_NOTE.sub(lambda match: match[1] + REMOVED, text)

    def _without_names(self, text: str) -> str:
        """Return a text without the names that were learned from the machine, in any letters and as programs write them."""
        if text not in self._clean:
            clean = self._host.sub("node", text) if self._host else text
            clean = self._others.sub(REMOVED, clean) if self._others else clean
            clean = self._written.sub(REMOVED, clean) if self._written else clean
            if len(text) > _SHORT:
                return clean
            self._clean[text] = clean
        return self._clean[text]

    def names(self, text: str) -> str:
        """Return a name or path without the identifiers that the kernel puts into names."""
        return _ENX.sub(self._enx, _UUID.sub(self._uuid, text))

    def _uuid(self, match: re.Match[str]) -> str:
        return f"00000000-0000-4000-8000-{self._number('uuid', match[0].lower()):012x}"

    def _enx(self, match: re.Match[str]) -> str:
        return "enx" + self._mac(match[1]).replace(":", "")

    def _info(self, match: re.Match[str]) -> str:
        if match[2] == "HostName":
            return f"{match[1]}node{match[4]}"
        return f"{match[1]}{REMOVED}{match[4]}" if _SECRET_INFO.search(match[2]) else match[0]

    def _mac(self, text: str) -> str:
        digits = re.sub(r"[:-]", "", text).lower()
        if set(digits) in ({"0"}, {"f"}):
            return text
        fake = f"02{self._number('mac', digits):0{len(digits) - 2}x}"
        between = "-" if "-" in text else ":"
        return between.join(fake[i : i + 2] for i in range(0, len(fake), 2))

    def _guids(self, text: str) -> str:
        """Return one GUID, or a GID, which is a prefix and a GUID; link-local and zero prefixes stay."""
        parts = text.split(":")
        return ":".join(self._guid("".join(parts[i : i + 4])) for i in range(0, len(parts), 4))

    def _guid(self, digits: str) -> str:
        if digits.lower() not in ("0" * 16, "fe80000000000000", "f" * 16):
            digits = f"02{self._number('guid', digits.lower()):014x}"
        return ":".join(digits[i : i + 4] for i in range(0, 16, 4))

    def _ipv4(self, match: re.Match[str]) -> str:
        parts = [int(part) for part in match[0].split(".")]
        if (
            max(parts) > 255
            or parts[0] in (0, 127, 255)
            or _VERSION_TEXT.search(match.string[max(0, match.start() - 40) : match.start()])
        ):
            return match[0]
        number = self._number("ipv4", match[0])
        return f"198.{18 + (number >> 16 & 1)}.{number >> 8 & 255}.{number & 255}"  # RFC 2544: for tests

    def _ipv6(self, text: str) -> str:
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError:
            return text
        widths = {len(group) for group in text.split(":")}
        if address.is_loopback or address.is_unspecified or ("::" not in text and widths in ({2}, {4})):
            return text  # eight groups of two are an EUI-64, of four a GID: both are another's by now
        return f"2001:db8::{self._number('ipv6', address.compressed):x}"  # RFC 3849: for documentation

    def _number(self, kind: str, real: str) -> int:
        """Return the same number for the same thing, a new one for a new thing."""
        seen = self._seen.setdefault(kind, {})
        return seen.setdefault(real, len(seen) + 1)


_KNOWN = """
64k __user a a1 a100 a2a a30 a40 a64fx aarch64 accelerator acpi acpi_cpufreq acpi_idle acpi_pm activating active
active_profile ada adapt address affected affinity aggressive aligned all all2all alloc allocation allowed alma almalinux
alpine alps altra always amazon amd amd64 amd_pstate ampere ampereone an analytics and any aocc api apic apicid apm app
applicable apps apr arch arch_sys_counter arm arm64 armed as asrock asset asus async at atomic atos attempted aug auto autofs
automatic available aws azure azurelinux b1 b200 balance balance_performance balance_power balanced bandwidth bank barriers
base basic batch bdw be beegfs before bergamo besteffort bhi bin bind bindings binfmt binfmt_misc bionic bl blackwell blkio
blocked blue bluefield bnxt board bond bookworm boot bpf bpo br branch broadwell bronze bst btl btls btrfs buffers build
bullseye bunch burstable bus buster by bypass bytes c c1 c1_acpi c1e c2 c2_acpi c3_acpi c6 cache capacity card cascade
cascadelake ccd cell centos ceph cephfs cest cet cgroup cgroup2 ch ch3 ch4 chan channel channel0 chaos chassis cifs clear
clock clocksource close cloud cls cluster cm cma coarse coll compact compatible completing compute cond conditional condor
configfs configure connectx cons conservative container containerd controller core cores correctable cos counters cppc
cppc_cpufreq cpu cpu_srcid cpuacct cpufreq cpuid cpus cpuset cpx cr cray craype cri crio csrow cstate cuda cuda_copy cuda_ipc
cxi cxl cyclic daemon darwin data date dax dc dc_mlx5 dc_x ddr2 ddr3 ddr4 ddr5 deactivating deb debian debug debugfs dec deep
default defer defer+madvise dell dependent desktop details dev device devices devpts devtmpfs die dimm dimm_label dimms dirty
dis disable disabled disk dist dma dmabuf docker domain dormant down downed dpx drain dram dummy dynamic e eager edr edt efa
efivarfs eibrs el emerald empty emr enable enabled enhanced enterprise epb epp epyc equal erdma errmgr error errors ess est
etc eth ethernet event eviden exclude exclusive execute exit explicit ext3 ext4 extern failed failure fake false family fault
fc fdr feb fedora fi fi_info file files fill filled filling fine flat flex flush flushes flux focal for force forced forceoff
forest found fq freezer fri from fs fujitsu full fuse fusectl gb gb200 gcc gcp gdr_copy geforce generation generic genoa
gentoo gfx gh200 gib gigabyte glusterfs gmt gni gnr gnu gold gpfs gpu gpumemory gpus grace granite granularity graphical
graphics graviton green gres grid gridengine group grpcomm gt gts gtx guaranteed guest guided h100 h200 ha halt haltpoll han
hana hard haswell hat hbm hbm2 hbm3 hcoll hdr hemisphere hfi hfi1 hgx hisi hitachi home hopper host hp hpc hpcx hpe hpet hsi
hsn hsw htcondor huawei huge hugepage hugepages hugetlb hugetlbfs hw hwe hwloc hwloc_base hwthread hwthreads hybrid hydra
hyperv hypervisor i386 i686 ib ibm ibp ibpb ibrs ice icelake icl id identity idle if image impi in inactive include indirect
inf infiniband infinipath infinite infinity info init inodes inspur instance instinct instruction intel intel_idle
intel_pstate inter interactive inversion iof iommu ipi ipoib irdma irq is iso9660 isolated ist its ittc ivb jammy jan jiffies
job jobs jst jul jun k8 kb kernel kfd kib knem knl kswapd kubepods kunpeng kvm l1 l1cache l2 l2cache l3 l3cache l40 l40s
ladder lake laptop latency leap left lenovo levelzero lfence lib lib64 libexec libfabric libflux libnbc libpod library limit
limited link linkup linux linux64 linuxproc lite lln llvm lmod lo loaded local locality locked locks lom longterm loongarch64
loop loose lower lowerlayerdown lowlatency lpi lrddr lsf lstopo lts lustre lxc m2 machine madvise main mainline mana managed
manager manufacturer map mapping mar mariner masked master max maximum may mb mbytes mc mcdram mellanox mem memfree memlock
memory memorymodule memorysidecache memtotal menu mi mi100 mi210 mi250x mi300a mi300x mib microcode milan min minimum misc
mispredictions mitigation mitigations mix mkey mlnx mlx mlx4 mlx5 mlx5_an mlx5_bond mnt mode module modulefiles modules mon
monitor monitoring mpi mpich mpichversion mpiexec mpiname mpirun mpt mqueue mrail msgqueue msmpi mssql mt mtl mvapich mvapich2
mwait naples ndr nec needed neoverse net net_cls net_prio network never new nfs nfs4 nfsd nhm nic nice no noacpi noatime noble
nobypass node node0 nodefer nodeid nodename nodes nodev nodiratime noexec nofile nogpu nohz nolocal nomce non none
nooversubscribe nopoll nosmt nosuid not notfound notimplemented notpresent notsupported nov nproc nps nr_inodes nrt nsfs null
numa numactl numalatency number nvdimm nvhpc nvidia nvl nvm nvml nvswitch o oam ob1 obsidian ocp oct odls oem of ofed off
offset ofi ok old omp omp_places ompi ompi_info on ondemand one oneapi only onyx oob ootpa open opencl openeuler openib
openmpi openpbs openshift opensuse opt options opx or oracle orterun osc other overlay overload oversubscribe p0 p1 p100 p4
pack package pages pagesize pals palsd param params parastation partitioning passive pause payload pbrsb pbs pbspro
pcc_cpufreq pci pcie pdt pe pending per perf perf_event performance pf pg pgid phyconfig phytium pids pipefs places plane
planned platform platinum plm plow plugin pm pmi pmix pml podman pointer policy poll polling port portals4 posix postgresql
powernow powersave ppc64le ppr prctl preempt preempt_dynamic preempt_rt prefer prevented primary prio priority pro proc
process processes processor proclist product profile program propagate protected provided prrte prte prte_info prterun psm
psm2 psm3 psmpi pst pstore psxe pt pte pti pv qdr qedr qle qpx quadrant quadro r radeon ramfs rank rankfile ranking rapids ras
rc rc_mlx5 rc_x rcv rddr rdma rdmap re readbandwidth readlatency realtime red redhat refined_jiffies registered relatime relax
release remapped remount removed reptar res resctrl reserved resident ret retpoline retpolines return rfds right riscv64 riser
rmaps rndv ro roce rocep rocky rocm rocm_copy rocm_ipc rome root rootfs routed rows rpc rpc_pipefs rsb rsh rsmi rss rt rtprio
rtx run rw rxd rxm ryzen s390x safe sanitization sap sapphire sat sbds sbin scatter schedutil schizo scientific scope sdma sdr
sec seccomp seconds securityfs select selection self selinuxfs sep seq sequence sequential serial series server service
session set sgi shallow share shasta shm shmem siena sierra signals sigpending silver single size sku skx skylake sleep sles
slice slimsas slot slots slurm slurmctld slurmd slurmdoffspec slurmstepd sm smb3 smcuda smp smt snb snc socket sockets soft
software sp space spack span spec specified spectre spectrum speculative spin spindown split spm spr spread spx squashfs srcid
srf srso ssb ssh stable stack state static status step stibp store stream strict string stuffing sun superchip supermicro
supported suse sw swap swapgs sxm symbol sync sys sysfs system systemd sysv t4 tag tape target task tcp teo tesla testing the
thread threadripper threads threshold throughput thu thunk thunks time titan tm tmp tmpfs to torque tos toss total tpx tracefs
training trampolines translated transparent transport tres trixie true tsa tsc tsx tue tumbleweed tuned turin turnaround
ubuntu ucc uct ucx ucx_info ud ud_mlx5 ud_x udp uek ugni uid unbound unbuffered uncorrectable undefined unified units unknown
unlimited unret unset unspecified untrained up upper used user usercopy userspace usr utc v100 vader var ve verbose verbs
version veth vfat via vii virbr virtual vm vmlinuz vmm vmscape vmx volatile vpi vram vulnerable wait wed wekafs wfi with
without wlm workstation writebandwidth writelatency x x64 x86 x86_64 xdr xen xeon xfs xmit xpmem yes yield z zcopy ze zero zfs
"""
_FOLDERS = ("net", "infiniband")
"""Folders in which devices lie by the names that a site may give them."""
_CGROUPS = re.compile(r"(/sys/fs/cgroup(?:/(?:cpuset|unified))?|/dev/cpuset)(/.*)?")
# What the kernel, systemd and the drivers call devices by themselves; sites may call them anything.
_DEVICE = re.compile(
    r"lo|p\d+p\d+"
    r"|(?:em|eth|ib|hsn|hsi|cxi|bond|br|team|wlan|wlp|usb|dummy|tun|tap|docker|virbr|veth|vnet|ens|eno|enp|enP|ibp|ibs|ibP|idrac|lom)[\dsfpdnvi.x]*"
    r"|(?:mlx[45]|hfi1|qib|irdma|bnxt_re|efa|qedr|cxgb4|ocrdma|hns|erdma|mana|usnic|siw|rxe|mthca|i40iw)_?(?:bond_|an)?\d*"
    r"|(?:rocep|ibp|rdmap|roceo|ibo|iwp|roces|ibs)\d+[sf\dvnpd]*"
)
_PRODUCT = re.compile(
    r"(?:PowerEdge|Precision|ProLiant|Apollo|Synergy|ThinkSystem|System x|PRIMERGY|BullSequana|UCS[BC])"
    r"[ -][A-Z]{1,4}-?\d{2,5}[A-Za-z]{0,3}"
    r"(?: Gen\d{1,2}(?: Plus)?(?: v\d)?| [vV]\d)?"
)
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}){2,}")

_VOCABULARY = frozenset(_KNOWN.split())
_TOKEN = re.compile(r"[A-Za-z0-9_]+")
_PLAIN = re.compile(r"[A-Za-z]?\d{1,8}[A-Za-z]?|[A-Za-z]|0x[0-9A-Fa-f]{1,8}|\d{1,5}[kKmMgGtT]i?[bB]?")
_NUMBERED = re.compile(r"\d{0,3}([a-z_]{2,20}?)_?(\d{0,6}(?:_\d{1,4})*)([a-z]?)")
# 5a1, 0rc2, v8, 30a1
_VERSION_WORD = re.compile(r"[a-z]?\d{1,6}(?:rc|a|b|p|beta|alpha|hotfix)\d{0,4}")


def is_known_word(word: str) -> bool:
    """Tell whether a word is one of the trade, with a number behind it or not."""
    low = word.lower()
    if low in _VOCABULARY or _PLAIN.fullmatch(word) or _VERSION_WORD.fullmatch(low):
        return True
    match = _NUMBERED.fullmatch(low)
    if match and match[1] in _VOCABULARY:
        return True
    return "_" in word and all(len(part) < 2 or is_known_word(part) for part in low.split("_"))


class Mask:
    """Stands others in for names: of the machine, of its devices, of people, and of all that is no word of the trade."""

    def __init__(self, names: tuple[str, ...] = (), identities: Iterable[str] = ()) -> None:
        """``names`` is what the machine is called, ``identities`` are words that tell who it is."""
        self._own = {name.partition(".")[0] for name in names}
        self._scrub = Scrubber(names, identities)
        self._words: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._devices: dict[str, str] = {}
        self._device: re.Pattern[str] | None = None
        self.inside: dict[str, str] = {}
        """What a part of a path is on the machine, by what it is called outside."""

    def text(self, text: str, *, addresses: bool = True) -> str:
        """Return a text without identifiers, serial numbers, addresses and the names that the machine goes by."""
        text = self._scrub.text(text, addresses=addresses)
        return self._device.sub(lambda match: self._devices[match[0]], text) if self._device else text

    def known(self, text: str) -> str:
        """Return a text in which only words of the trade are themselves, and what the kernel calls devices."""
        return _TOKEN.sub(lambda match: self._known(match[0], devices=True), _ESCAPED.sub(REMOVED, text))

    def words(self, text: str, *, addresses: bool = True) -> str:
        """Return a text without identifiers in which only words of the trade are themselves."""
        return self.known(self.text(text, addresses=addresses))

    def product(self, text: str) -> str:
        """Return what a vendor calls a product, though a site may have called a machine after it."""
        return text if _PRODUCT.fullmatch(text.strip()) else self.text(text, addresses=False)

    def own(self, name: str) -> bool:
        """Tell whether the machine is called so."""
        return name.partition(".")[0] in self._own

    def device(self, name: str) -> str:
        """Return what a device is called: as the kernel calls it, or by a number where a site has named it."""
        name = self._scrub.names(name)
        self.learn([name], "device")
        return self._devices.get(name, name)

    def learn(self, names: Iterable[str], kind: str) -> None:
        """Call devices that a site has named by kind and number; in texts not those so short that they could be anything."""
        new = [name for name in names if name and name not in self._devices]
        new = [name for name in new if not (_DEVICE.fullmatch(name) or name.startswith("enx") or name == "bonding_masters")]
        for name in new:
            self._devices[name] = f"{kind}{len(self._devices) + 1}"
        found = sorted(
            filter(lambda name: len(name) > 2 and not name.isdigit(), self._devices), key=lambda name: (-len(name), name)
        )
        if new and found:
            self._device = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, found))})(?![\w-])")

    def cgroup(self, path: str) -> str:
        """Return a path of cgroups in which only words of the trade are themselves, and no numbers of users and jobs."""
        return self.path(path, self._nameless)

    def file(self, path: str) -> str:
        """Return a path as it is written out: with others for the names that say whose it is."""
        cgroups = _CGROUPS.fullmatch(path)
        if cgroups:
            return cgroups[1] + self.cgroup(cgroups[2] or "")
        if path.startswith(("/etc/tuned/", "/usr/lib/tuned/")):
            return self.path(path, self.known)
        parts = path.split("/")
        named = zip(parts, [self.device if above in _FOLDERS else self._scrub.names for above in ("", *parts)], strict=False)
        return "/".join(self.path(part, mask) for part, mask in named)

    def path(self, path: str, mask: Callable[[str], str]) -> str:
        """Return a path as its parts are written out, and note what each was."""
        parts = path.split("/")
        shown = [mask(part) for part in parts]
        self.inside |= {new: old for new, old in zip(shown, parts, strict=True) if new != old}
        return "/".join(shown)

    def _known(self, word: str, *, devices: bool) -> str:
        """Return a word of the trade, and of any other name1, name2, ...; counted up as they are met."""
        if is_known_word(word) or (devices and (_DEVICE.fullmatch(word) or word in self._devices.values())):
            return word
        return self._words.setdefault(word.lower(), f"name{len(self._words) + 1}")

    def _nameless(self, text: str) -> str:
        """Return words of the trade with each number of two digits or more counted again: numbers of users and jobs name them."""
        return _TOKEN.sub(lambda match: self._numbered(self._known(match[0], devices=False)), text)

    def _numbered(self, word: str) -> str:
        if re.fullmatch(r"name\d+", word):
            return word
        # From 100 on, so that no other number's stand-in is a number of one digit, which stays.
        return re.sub(r"\d{2,}", lambda match: self._numbers.setdefault(match[0], str(len(self._numbers) + 100)), word)
