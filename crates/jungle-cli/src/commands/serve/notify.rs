//! What the service manager is told, if it has asked for it: systemd does of a unit with
//! `Type=notify`.

/// What it is told.
#[derive(Clone, Copy)]
pub(crate) enum News {
    /// It serves from now on.
    Ready,
    /// It will end.
    Stopping,
}

/// Tells it; nothing where nobody has asked.
#[cfg(target_os = "linux")]
pub(crate) fn tell(news: News) {
    use crate::output::say;
    use sd_notify::NotifyState;

    let state = match news {
        News::Ready => NotifyState::Ready,
        News::Stopping => NotifyState::Stopping,
    };
    if let Err(error) = sd_notify::notify(&[state]) {
        say(format_args!("Note: the service manager could not be told how it is: {error}"));
    }
}

/// There is none that asks.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tell(_: News) {}
