package fleettest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// recorder is a test that notes what it finds instead of failing.
type recorder struct {
	testing.TB
	mu    sync.Mutex
	found []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// broken is a cloud that does one thing wrong; nil functions are the cloud's own.
type broken struct {
	*Cloud
	launch    func(context.Context, fleet.LaunchRequest) (fleet.Machine, error)
	terminate func(context.Context, string) error
	inventory func(context.Context, string) (fleet.Inventory, error)
	offers    func(context.Context) ([]fleet.Offer, error)
	remove    func(context.Context, string) error
}

func (b *broken) Launch(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
	if b.launch != nil {
		return b.launch(ctx, r)
	}
	return b.Cloud.Launch(ctx, r)
}

func (b *broken) Terminate(ctx context.Context, id string) error {
	if b.terminate != nil {
		return b.terminate(ctx, id)
	}
	return b.Cloud.Terminate(ctx, id)
}

func (b *broken) Inventory(ctx context.Context, fleetID string) (fleet.Inventory, error) {
	if b.inventory != nil {
		return b.inventory(ctx, fleetID)
	}
	return b.Cloud.Inventory(ctx, fleetID)
}

func (b *broken) Offers(ctx context.Context) ([]fleet.Offer, error) {
	if b.offers != nil {
		return b.offers(ctx)
	}
	return b.Cloud.Offers(ctx)
}

func (b *broken) RemoveDisk(ctx context.Context, id string) error {
	if b.remove != nil {
		return b.remove(ctx, id)
	}
	return b.Cloud.RemoveDisk(ctx, id)
}

// edited is an inventory of which something is wrong.
func edited(b *broken, edit func(*fleet.Machine)) {
	b.inventory = func(ctx context.Context, fleetID string) (fleet.Inventory, error) {
		all, err := b.Cloud.Inventory(ctx, fleetID)
		for i := range all.Machines {
			edit(&all.Machines[i])
		}
		return all, err
	}
}

func TestTheSuiteFindsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		with func(*broken)
	}{
		"a token that counts for nothing": {"the same token asks for the same machine", func(b *broken) {
			n := 0
			b.launch = func(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
				n++
				r.Token += fmt.Sprint(n)
				return b.Cloud.Launch(ctx, r)
			}
		}},
		"a token that is free again": {"a token makes no second machine when the first has ended", func(b *broken) {
			b.launch = func(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
				m, err := b.Cloud.Launch(ctx, r)
				if m.State == fleet.MachineTerminated {
					r.Token += "again"
					return b.Cloud.Launch(ctx, r)
				}
				return m, err
			}
		}},
		"a lost answer that is made good by another machine": {"a launch whose answer is lost may have made its machine, and makes no other", func(b *broken) {
			b.launch = func(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
				m, err := b.Cloud.Launch(ctx, r)
				if err != nil {
					r.Token += "again"
					return b.Cloud.Launch(ctx, r)
				}
				return m, err
			}
		}},
		"a call that does not honour its context": {"a launch whose time is over fails, and may be asked for again", func(b *broken) {
			b.launch = func(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
				return b.Cloud.Launch(context.WithoutCancel(ctx), r)
			}
		}},
		"a tag that is missing": {"a machine is listed with its place, its tags and its time", func(b *broken) {
			edited(b, func(m *fleet.Machine) { m.WorkerID = "" })
		}},
		"spot that became on demand": {"a machine is listed with its place, its tags and its time", func(b *broken) {
			edited(b, func(m *fleet.Machine) { m.Market = fleet.Spot })
		}},
		"an end without a time": {"a machine that is ended is terminated, with its time, or listed no more", func(b *broken) {
			edited(b, func(m *fleet.Machine) { m.TerminatedAt = time.Time{} })
		}},
		"an end that does nothing": {"a machine that is ended is terminated, with its time, or listed no more", func(b *broken) {
			b.terminate = func(context.Context, string) error { return nil }
		}},
		"an end of all": {"the others go on when one machine is ended", func(b *broken) {
			b.terminate = func(ctx context.Context, _ string) error {
				for _, m := range b.Machines() {
					_ = b.Cloud.Terminate(ctx, m.ID)
				}
				return nil
			}
		}},
		"a machine that never was, ended well": {"a machine that never was is not found", func(b *broken) {
			b.terminate = func(ctx context.Context, id string) error {
				if err := b.Cloud.Terminate(ctx, id); fleet.OutcomeOf(err) != fleet.NotFound {
					return err
				}
				return nil
			}
		}},
		"all fleets in one": {"another fleet's machines are not listed", func(b *broken) {
			b.inventory = func(context.Context, string) (fleet.Inventory, error) {
				return fleet.Inventory{Machines: b.Machines()}, nil
			}
		}},
		"the first page only": {"an inventory lists 1,001 machines", func(b *broken) {
			b.inventory = func(ctx context.Context, fleetID string) (fleet.Inventory, error) {
				all, err := b.Cloud.Inventory(ctx, fleetID)
				all.Machines = all.Machines[:min(100, len(all.Machines))]
				return all, err
			}
		}},
		"what was listed before a page failed": {"an inventory of which a page fails is none", func(b *broken) {
			b.inventory = func(ctx context.Context, fleetID string) (fleet.Inventory, error) {
				all, err := b.Cloud.Inventory(ctx, fleetID)
				if err != nil {
					all.Machines = b.Machines()[:100]
				}
				return all, nil
			}
		}},
		"failures without a meaning": {"a launch that fails for no_capacity says so, and makes no machine", func(b *broken) {
			b.launch = func(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
				m, err := b.Cloud.Launch(ctx, r)
				if err != nil {
					return m, errors.New(err.Error())
				}
				return m, nil
			}
		}},
		"a secret in an error": {"a launch that fails for permanent says so, and makes no machine", func(b *broken) {
			b.launch = func(ctx context.Context, r fleet.LaunchRequest) (fleet.Machine, error) {
				m, err := b.Cloud.Launch(ctx, r)
				if err != nil {
					return m, refuse(fleet.OutcomeOf(err), "POST https://key:swordfish@example.com: %v", err)
				}
				return m, nil
			}
		}},
		"a price below nothing": {"what is offered has a place, a price and a source", func(b *broken) {
			b.offers = func(ctx context.Context) ([]fleet.Offer, error) {
				list, err := b.Cloud.Offers(ctx)
				list[0].Price = -1
				return list, err
			}
		}},
		"a disk that stays": {"a disk without a machine is listed, and can be removed", func(b *broken) {
			b.remove = func(context.Context, string) error { return nil }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if found := tried(t, c.rule, c.with); len(found) == 0 {
				t.Errorf("the rule %q found nothing", c.rule)
			}
			if found := tried(t, c.rule, func(*broken) {}); len(found) > 0 {
				t.Errorf("the rule %q finds something wrong with a good cloud: %q", c.rule, found)
			}
		})
	}
}

// tried is what a rule finds.
func tried(t *testing.T, name string, with func(*broken)) []string {
	t.Helper()
	clock := NewClock(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	c := NewCloud("aws", clock.Now)
	offer := c.Offer("c6i.xlarge", "eu-west-3a", fleet.OnDemand, 20*fleet.Cent)
	c.SetOffer(offer)
	b := &broken{Cloud: c}
	with(b)
	once := func(f Fault, page int) {
		c.SetFaults(func(call Call) Fault {
			if page > 0 && call.Page != page || f == (Fault{}) {
				return Fault{}
			}
			defer func() { f = Fault{} }()
			return f
		})
	}
	s := Subject{
		Provider: b, Candidate: fleet.Candidate{Offer: offer}, Secrets: []string{"swordfish"},
		Settle:   func() { clock.Advance(5 * time.Second) },
		Refuse:   func(o fleet.Outcome) { once(Fail(o), 0) },
		Lose:     func() { once(LoseAnswer(), 0) },
		Many:     func(fleetID string, n int) { c.Put(fleetID, n, offer.Place) },
		FailPage: func(page int) { once(Fail(fleet.Throttled), page) },
		Disk:     func(fleetID string) string { return c.PutDisk(fleetID, "") },
	}
	list := rules()
	at := slices.IndexFunc(list, func(r rule) bool { return r.name == name })
	if at < 0 {
		t.Fatalf("there is no rule %q", name)
	}
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		list[at].hold(&trial{TB: r, Subject: s})
	}()
	<-done
	return r.found
}
