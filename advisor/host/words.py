"""The words of the trade: what an anonymised capture may say; any other word could name somebody.

A word that is not known becomes name1, name2, ... and the same word always the same name.
"""

import re

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
_VOCABULARY = frozenset(_KNOWN.split())
_TOKEN = re.compile(r"[A-Za-z0-9_]+")
_PLAIN = re.compile(r"[A-Za-z]?\d{1,8}[A-Za-z]?|[A-Za-z]|0x[0-9A-Fa-f]{1,8}|\d{1,5}[kKmMgGtT]i?[bB]?")
_NUMBERED = re.compile(r"\d{0,3}([a-z_]{2,20}?)_?(\d{0,6}(?:_\d{1,4})*)([a-z]?)")
# 5a1, 0rc2, v8, 30a1
_VERSION = re.compile(r"[a-z]?\d{1,6}(?:rc|a|b|p|beta|alpha|hotfix)\d{0,4}")


def is_known(word: str) -> bool:
    """Tell whether a word is one of the trade, with a number behind it or not."""
    low = word.lower()
    if low in _VOCABULARY or _PLAIN.fullmatch(word) or _VERSION.fullmatch(low):
        return True
    match = _NUMBERED.fullmatch(low)
    if match and match[1] in _VOCABULARY:
        return True
    return "_" in word and all(len(part) < 2 or is_known(part) for part in low.split("_"))


class Words:
    """Stands names in for the words that are not known, counted up as they are met."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._numbers: dict[str, str] = {}

    def known(self, text: str) -> str:
        """Return a text in which each word that is not of the trade is called name1, name2, ..."""
        return _TOKEN.sub(lambda match: match[0] if is_known(match[0]) else self.name(match[0]), text)

    def nameless(self, text: str) -> str:
        """Return the same with each number of two digits or more counted anew: numbers of users and jobs name them."""
        return _TOKEN.sub(lambda match: self._number(match[0]), self.known(text))

    def name(self, word: str) -> str:
        """Return what a word is called."""
        return self._names.setdefault(word.lower(), f"name{len(self._names) + 1}")

    def _number(self, word: str) -> str:
        if re.fullmatch(r"name\d+", word):
            return word
        # From 100 on, so that no other number's stand-in is a number of one digit, which stays.
        return re.sub(r"\d{2,}", lambda match: self._numbers.setdefault(match[0], str(len(self._numbers) + 100)), word)
