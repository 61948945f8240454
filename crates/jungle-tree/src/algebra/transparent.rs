//! Errors that are others.

/// Makes an enum an error that is one of those in its variants, and says no more than that: what
/// `thiserror`, which this crate does without, calls `transparent` and `from`.
macro_rules! transparent {
    ($error:ident { $($variant:ident($cause:ty)),+ }) => {
        $(impl From<$cause> for $error {
            fn from(error: $cause) -> $error {
                $error::$variant(error)
            }
        })+

        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($error::$variant(error) => error.fmt(f),)+
                }
            }
        }

        impl std::error::Error for $error {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                match self {
                    $($error::$variant(error) => error.source(),)+
                }
            }
        }
    };
}

pub(super) use transparent;
