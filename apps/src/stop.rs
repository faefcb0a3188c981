//! A switch that stops a run from outside: thrown once, heard by everyone who asked to be told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Listener = Box<dyn FnOnce() + Send>;

/// Shared by whoever may stop a run and whoever runs it.
#[derive(Clone, Default)]
pub struct StopSwitch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    thrown: AtomicBool,
    listeners: Mutex<Vec<Listener>>,
}

impl StopSwitch {
    /// Stops the run: calls every listener, now and later ones.
    pub fn throw(&self) {
        self.0.thrown.store(true, Ordering::SeqCst);
        let listeners = std::mem::take(&mut *self.listeners());
        listeners.into_iter().for_each(|listener| listener());
    }

    /// Whether it has been thrown.
    pub fn is_thrown(&self) -> bool {
        self.0.thrown.load(Ordering::SeqCst)
    }

    /// Calls `listener` once the switch is thrown, at once if it already is.
    pub fn on_throw(&self, listener: impl FnOnce() + Send + 'static) {
        self.listeners().push(Box::new(listener));
        if self.is_thrown() {
            self.throw(); // thrown before or while the listener was added
        }
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<Listener>> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_listener_is_called_once_whenever_it_came() {
        let (switch, calls) = (StopSwitch::default(), Arc::new(AtomicU32::new(0)));
        let listen = || {
            let calls = Arc::clone(&calls);
            switch.on_throw(move || {
                calls.fetch_add(1, Ordering::SeqCst);
            });
        };
        listen();
        assert_eq!((calls.load(Ordering::SeqCst), switch.is_thrown()), (0, false));
        switch.throw();
        listen();
        switch.throw();
        assert_eq!((calls.load(Ordering::SeqCst), switch.is_thrown()), (2, true));
    }
}
