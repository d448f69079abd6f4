//! A real Slurm: slurmctld, and two nodes on this machine, with neither root nor systemd nor munge.

use super::{Place, said};
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Nodes of the cluster.
const NODES: [&str; 2] = ["node1", "node2"];

/// Longest wait for anything of the cluster.
const LONGEST: Duration = Duration::from_secs(300);

pub struct Cluster {
    folder: PathBuf,
    controller: Child,
    nodes: Vec<Child>,
}

fn free_ports() -> [u16; 3] {
    let sockets = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    sockets.map(|socket| socket.local_addr().expect("an address").port())
}

pub fn text_of(command: &mut Command) -> String {
    let output = command.output().expect("Slurm is needed: scripts/setup cluster");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Cluster {
    pub fn start(folder: PathBuf) -> Cluster {
        let user = text_of(Command::new("id").arg("-un"));
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("procfs");
        let host = host.trim().split('.').next().expect("a name").to_owned();
        let [controller, first, second] = free_ports();
        let at = folder.display();
        let spools = ["state", "spool-node1", "spool-node2"];
        spools
            .iter()
            .for_each(|name| fs::create_dir_all(folder.join(name)).expect("a folder"));
        let settings = format!(
            "ClusterName=witness
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmctldPort={controller}
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool-%n
SlurmctldPidFile={at}/controller.pid
SlurmdPidFile={at}/%n.pid
SlurmdTimeout=5
MinJobAge=300
ReturnToService=2
KillWait=1
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1 State=UNKNOWN
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
"
        );
        fs::write(folder.join("slurm.conf"), settings).expect("it is written");
        let mut cluster = Cluster {
            controller: spawn("/usr/sbin/slurmctld", &folder, &[]),
            nodes: Vec::new(),
            folder,
        };
        cluster.nodes = NODES
            .map(|node| spawn("/usr/sbin/slurmd", &cluster.folder, &["-N", node]))
            .into();
        cluster.until("the nodes are idle", |cluster| {
            let states = text_of(cluster.command("sinfo").args(["--noheader", "-N", "-o", "%T"]));
            states.lines().count() == NODES.len() && states.lines().all(|state| state == "idle")
        });
        cluster
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    fn until(&self, what: &str, is_so: impl Fn(&Cluster) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            assert!(begin.elapsed() < LONGEST, "{what}: {}", self.logs());
            thread::sleep(Duration::from_millis(100));
        }
    }

    pub fn logs(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        ["slurmctld.log", "node1.log", "node2.log"].map(read).join("\n")
    }
}

fn spawn(program: &str, folder: &std::path::Path, more: &[&str]) -> Child {
    let name = more.last().copied().unwrap_or("slurmctld");
    let log = fs::File::create(folder.join(format!("{name}.log"))).expect("a log");
    let mut command = Command::new(program);
    command.arg("-D").arg("-f").arg(folder.join("slurm.conf")).args(more);
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log);
    command.spawn().expect("Slurm is needed: scripts/setup cluster")
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.command("scancel").args(["--name", "witness"]).output();
        for child in self.nodes.iter_mut().chain([&mut self.controller]) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The process of a worker, which outlives its node's daemon.
fn worker_on(node: &str) -> Option<String> {
    let node = format!("SLURMD_NODENAME={node}").into_bytes();
    let processes = fs::read_dir("/proc").expect("procfs").flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().into_string().ok());
    numbers.find(|number| {
        let has = |file: &str, wanted: &[u8]| {
            let words = fs::read(format!("/proc/{number}/{file}")).unwrap_or_default();
            words.split(|&byte| byte == 0).any(|word| word == wanted)
        };
        has("cmdline", b"--any-shard-of") && has("environ", &node)
    })
}

fn submit(cluster: &Cluster, place: &Place, words: &[&str]) -> Output {
    let mut witness = place.witness(&[&["cluster", "trace.bin"], words].concat());
    witness.env("SLURM_CONF", cluster.folder.join("slurm.conf"));
    witness.output().expect("witness runs")
}

#[test]
#[ignore = "needs Slurm: scripts/setup cluster"]
fn a_slurm_array_decides_what_one_analysis_does_even_if_a_node_is_killed() {
    let place = Place::new("slurm");
    let alone = place.stored_by_one();
    // Slurm's settings know no spaces, which the folder of the tests may have.
    let folder = std::env::temp_dir().join(format!("witness-slurm-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut cluster = Cluster::start(folder);
    let output = submit(
        &cluster,
        &place,
        &["--workers", "2", "--wait", "--", "--report", "csv=races.csv"],
    );
    assert_eq!(output.status.code(), Some(66), "{output:?}\n{}", cluster.logs());
    assert!(said(&output).contains("races witnessed"), "{output:?}");
    assert!(place.stored() == alone);
    assert!(place.folder.join("races.csv").exists());
    // What is done is not done again.
    let again = submit(&cluster, &place, &["--workers", "2", "--wait"]);
    assert_eq!(again.status.code(), Some(66), "{again:?}");
    assert!(place.stored() == alone);

    // Once more; a node, and what runs on it, dies in the middle.
    fs::remove_dir_all(place.store()).expect("results were stored");
    let options = ["--workers", "2", "--shards", "12", "--threads", "1"];
    let output = submit(&cluster, &place, &options);
    assert!(output.status.success(), "{output:?}");
    let leases = || {
        let entries = fs::read_dir(place.store().join("shards")).into_iter().flatten();
        entries
            .filter(|entry| {
                entry
                    .as_ref()
                    .is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "lease"))
            })
            .count()
    };
    cluster.until("both work", |_| leases() == 2);
    cluster.nodes[0].kill().expect("it is there");
    cluster.nodes[0].wait().expect("a child");
    let victim = worker_on("node1").expect("a worker on the node");
    let killed = Command::new("kill").args(["-9", &victim]).status();
    assert!(killed.expect("kill runs").success());
    let result = place.store().join("results.json");
    cluster.until("the merged result", |_| result.exists());
    cluster.until("all jobs are over", |cluster| {
        text_of(
            cluster
                .command("squeue")
                .args(["--noheader", "--states", "RUNNING,PENDING"]),
        )
        .is_empty()
    });
    assert!(place.stored() == alone, "{}", cluster.logs());
}
