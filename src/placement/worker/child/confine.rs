//! Confining a worker, before it has a second thread: landlock holds one thread and what that starts later.
//!
//! Files by landlock; by a filter of system calls what landlock leaves open: sockets of the network, and calls by which a
//! program gets around either (`io_uring` opens sockets, another architecture's calls have other numbers). What cannot be
//! enforced is an error. Root's capabilities are given up. Not held: metadata of files (owner, mode, times), and sockets in the
//! file system that the user may write to.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::super::sandbox::{Confinement, Files};
use super::super::sockets::checked;

/// What programs read of a system. Of `/proc` landlock itself keeps other processes' memory and environment away.
const SYSTEM: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/proc",
    "/run/systemd/resolve",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];

/// Devices that hold nothing.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Where semaphores of `multiprocessing` live.
const SHARED_MEMORY: &str = "/dev/shm";

/// Holds this process, and all it will start, for good. `temporary` is the folder of its own.
pub(super) fn confine(confinement: &Confinement, temporary: Option<&Path>) -> Result<(), String> {
    // SAFETY: sets a property of this process.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
        .map_err(|error| format!("`no_new_privs` cannot be set: {error}"))?;
    drop_capabilities()
        .map_err(|error| format!("the capabilities of root cannot be given up: {error}"))?;
    if let Some(files) = &confinement.files {
        let status = hold_files(files, temporary)
            .map_err(|error| format!("landlock refuses the sandbox: {error}"))?;
        if status == RulesetStatus::NotEnforced {
            return Err("landlock does not enforce the sandbox on this kernel".to_owned());
        }
    }
    filter_calls(confinement.network)
        .map_err(|error| format!("the kernel takes no filter of system calls: {error}"))
}

/// Gives up what root may do beyond other users, for good: with it the environment of the host can be read, among other things.
fn drop_capabilities() -> io::Result<()> {
    for capability in 0.. {
        // SAFETY: takes a capability out of what programs of this process may gain.
        let dropped = checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) });
        match dropped.map_err(|error| error.raw_os_error()) {
            Ok(_) => {}
            // The last one the kernel has is passed, or this process has none to give.
            Err(Some(libc::EINVAL | libc::EPERM)) => break,
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    #[repr(C)]
    struct Header {
        version: u32,
        process: libc::c_int,
    }
    const VERSION: u32 = 0x2008_0522;
    let header = Header {
        version: VERSION,
        process: 0,
    };
    let none = [0_u32; 6];
    // SAFETY: header and sets are laid out as this version of the call reads them; giving up needs no permission.
    checked(unsafe {
        libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) as libc::c_int
    })
    .map(drop)
}

fn hold_files(files: &Files, temporary: Option<&Path>) -> Result<RulesetStatus, RulesetError> {
    // Version 3 is the first that holds `truncate`; signals and abstract sockets stay inside where the kernel can do that.
    let all = AccessFs::from_all(ABI::V3);
    let read = AccessFs::from_read(ABI::V3);
    let system = SYSTEM.iter().map(PathBuf::from);
    let readable: Vec<PathBuf> = system.chain(files.read.iter().cloned()).collect();
    let devices = AccessFs::ReadFile | AccessFs::WriteFile;
    let mut writable: Vec<PathBuf> = files.write.clone();
    writable.extend(temporary.map(Path::to_owned));
    if !files.write.is_empty() {
        writable.push(SHARED_MEMORY.into());
    }
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .add_rules(path_beneath_rules(&readable, read))?
        .add_rules(path_beneath_rules(DEVICES, devices))?
        .add_rules(path_beneath_rules(&writable, all))?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// The calls that reach around the sandbox, or into the kernel.
const REFUSED: [libc::c_long; 23] = [
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// The calls that change how another process fares, by which of their arguments names it: 0 is the caller. A process of the
/// same user may set another's limits, and end it by that.
const OF_A_PROCESS: [(libc::c_long, u32); 6] = [
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
];

/// Calls that programs do without when a kernel lacks them.
const MISSING: [libc::c_long; 3] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where `struct seccomp_data` has what.
const NUMBER: u32 = 0;
const OF_ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// What an argument takes there; the lower half comes first on the machines that this runs on.
const ARGUMENT_BYTES: u32 = 8;

/// The bit of the calls of x32, which are x86-64's by other numbers.
const X32: u32 = 0x4000_0000;

fn filter_calls(network: bool) -> io::Result<()> {
    let mut filter = program(network);
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program lives for the call, which copies it; a filter holds this thread and those it starts later.
    checked(unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
            &raw const program,
            0,
            0,
        )
    })
    .map(drop)
}

/// The filter, as the kernel's packet filters are written: each comparison jumps over so many instructions.
fn program(network: bool) -> Vec<libc::sock_filter> {
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let mut program = vec![
        load(OF_ARCHITECTURE),
        jump_if_equal(ARCHITECTURE, 1, 0),
        give(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
        jump_if_at_least(X32, 0, 1),
        give(missing),
    ];
    for (calls, answer) in [(&REFUSED[..], refused), (&MISSING[..], missing)] {
        for call in calls {
            program.push(jump_if_equal(*call as u32, 0, 1));
            program.push(give(answer));
        }
    }
    let argument = |index: u32| load(ARGUMENTS + index * ARGUMENT_BYTES);
    let upper_half = |index: u32| load(ARGUMENTS + index * ARGUMENT_BYTES + 4);
    for (call, process) in OF_A_PROCESS {
        program.extend([
            jump_if_equal(call as u32, 0, 4),
            argument(process),
            jump_if_equal(0, 1, 0),
            give(refused),
            load(NUMBER),
        ]);
    }
    // Reading the limits of another process changes nothing: only with new ones it is refused.
    program.extend([
        jump_if_equal(libc::SYS_prlimit64 as u32, 0, 8),
        argument(0),
        jump_if_equal(0, 5, 0),
        argument(2),
        jump_if_equal(0, 0, 2),
        upper_half(2),
        jump_if_equal(0, 1, 0),
        give(refused),
        load(NUMBER),
    ]);
    if !network {
        program.extend([
            jump_if_equal(libc::SYS_socket as u32, 0, 3),
            argument(0),
            jump_if_equal(libc::AF_UNIX as u32, 1, 0),
            give(refused),
        ]);
    }
    program.push(give(libc::SECCOMP_RET_ALLOW));
    program
}

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn give(answer: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, answer, 0, 0)
}

fn jump_if_equal(value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    statement(code, value, then, otherwise)
}

fn jump_if_at_least(value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    statement(code, value, then, otherwise)
}

fn statement(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}
