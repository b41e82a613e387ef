"""More programs of GS602: each bad one is reported at its marks, each good one by no rule."""


def bad_sum_that_a_later_part_means_to_train() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = torch.zeros(())
    for step in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total = total + loss  # cause: GS602
        if step > 1000:
            mean = total / step
            mean.backward()


def bad_sum_that_has_its_pass_and_is_kept() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    for _ in range(12):
        opt.zero_grad()
        total = torch.zeros(())
        for _ in range(3):
            total += model(torch.randn(8, 4)).pow(2).mean()
        total.backward()
        opt.step()
        history.append(total)  # cause: GS602


def bad_moving_average() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    average = torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        average = 0.9 * average + 0.1 * loss  # cause: GS602


def bad_parts_of_a_loss() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    history: dict[str, list[torch.Tensor]] = {"fit": [], "size": []}
    for _ in range(12):
        opt.zero_grad()
        x = torch.randn(8, 4)
        out = model(x)
        fit = (out - x).pow(2).mean()
        size = out.abs().mean()
        (fit + 0.1 * size).backward()
        opt.step()
        history["fit"].append(fit)  # cause: GS602
        history["size"].append(size.detach())


def bad_kept_by_a_meter() -> None:
    import torch
    from torch import nn

    class Meter:
        def __init__(self) -> None:
            self.values: list[torch.Tensor] = []

        def update(self, value: torch.Tensor) -> None:
            self.values.append(value)

    model, meter = nn.Linear(4, 1), Meter()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        meter.update(loss)  # cause: GS602


def bad_kept_by_a_meter_that_is_given_numbers_too() -> None:
    import torch
    from torch import nn

    class Running:
        def __init__(self) -> None:
            self.mean = 0.0

        def update(self, value: float) -> None:
            self.mean = self.mean * 0.9 + value * 0.1

    model, losses, rows = nn.Linear(4, 1), Running(), Running()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        losses.update(loss)  # cause: GS602
        rows.update(8.0)


def bad_logged_by_name() -> None:  # fix: by hand
    from collections import defaultdict

    import torch
    from torch import nn

    class History:
        def __init__(self) -> None:
            self.logs: defaultdict[str, list[object]] = defaultdict(list)

        def log(self, **values: object) -> None:
            for name, value in values.items():
                self.logs[name].append(value)

    model, history = nn.Linear(4, 1), History()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        history.log(step=step, loss=loss)  # cause: GS602


def bad_list_that_has_a_pass() -> None:  # fix: by hand
    from collections.abc import Callable

    import torch
    from torch import nn

    def fit(model: nn.Module, loss_of: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        losses: list[torch.Tensor] = []
        for _ in range(12):
            opt.zero_grad()
            losses.append(torch.stack([loss_of(model(torch.randn(8, 4)))]).sum())  # cause: GS602
            losses[-1].backward()
            opt.step()
        return losses

    fit(nn.Linear(4, 1), lambda out: out.pow(2).mean())


def bad_list_that_is_only_looked_at() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(30):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        losses.append(loss)  # cause: GS602
        if step > 5 and abs(losses[-1] - losses[-5]) < 1e-9:
            break


def bad_list_grown_by_a_sum() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    losses: list[torch.Tensor] = []
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        losses += [loss]  # cause: GS602


def bad_entry_of_a_dictionary() -> None:
    import torch
    from torch import nn

    class Problem(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": self.net(x).pow(2).mean()}

    model = Problem()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(8):
        out = model(torch.randn(8, 3))
        opt.zero_grad()
        out["loss"].backward()
        opt.step()
        losses.append(out["loss"])  # cause: GS602
    print(torch.stack(losses).mean())


def bad_outputs_kept() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    outputs = []
    for _ in range(12):
        opt.zero_grad()
        out = model(torch.randn(8, 4))
        nn.functional.cross_entropy(out, torch.randint(0, 3, (8,))).backward()
        opt.step()
        outputs.append(out)  # cause: GS602


def bad_score_of_each_step_kept() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    curve = []
    for _ in range(12):
        opt.zero_grad()
        out = model(torch.randn(8, 4))
        out.pow(2).mean().backward()
        opt.step()
        curve.append(out.mean())  # cause: GS602


def bad_in_a_later_phase() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    for epoch in range(5):
        for _ in range(20):
            opt.zero_grad()
            loss = model(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            opt.step()
            if epoch > 2:
                history.append(loss)  # cause: GS602


def good_pass_for_each_number_of_an_episode() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 2), nn.Softmax(0))
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        chances, losses = [], []
        for _ in range(9):
            chances.append(policy(torch.randn(3))[0])
        opt.zero_grad()
        for chance in reversed(chances):
            losses.append(-chance.log() * 0.5)
            losses[-1].backward()
        opt.step()


def good_losses_of_tasks_until_the_outer_step() -> None:
    import torch
    from torch import nn

    shared = nn.Linear(4, 4)
    opt_shared = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(2):
        outer = []
        for _ in range(8):
            head = nn.Linear(4, 1)
            opt = torch.optim.SGD(head.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                head(shared(torch.randn(6, 4)).detach()).pow(2).mean().backward()
                opt.step()
            outer.append(head(shared(torch.randn(6, 4))).pow(2).mean())
        opt_shared.zero_grad()
        torch.stack(outer).mean().backward()
        opt_shared.step()


def good_outer_loss_of_learners() -> None:
    import copy

    import torch
    from torch import nn

    model, embed = nn.Linear(4, 1), nn.Linear(4, 4)
    opt = torch.optim.SGD(embed.parameters(), lr=0.1)
    for _ in range(3):
        outer = torch.zeros(())
        for _ in range(6):
            learner = copy.deepcopy(model)
            inner = torch.optim.SGD(learner.parameters(), lr=0.1)
            for _ in range(4):
                inner.zero_grad()
                learner(embed(torch.randn(8, 4)).detach()).pow(2).mean().backward()
                inner.step()
            outer = outer + learner(embed(torch.randn(8, 4))).pow(2).mean()
        outer = outer / 6 + embed.weight.pow(2).sum()
        opt.zero_grad()
        outer.backward()
        opt.step()


def good_losses_with_a_pass_of_their_own_and_one_together() -> None:
    import torch
    from torch import nn

    body = nn.Linear(4, 4)
    opt = torch.optim.SGD(body.parameters(), lr=0.1)
    for _ in range(2):
        losses = []
        for _ in range(14):
            scale = torch.ones(4, requires_grad=True)
            inner = torch.optim.SGD([scale], lr=0.1)
            loss = (body(torch.randn(8, 4)) * (1 * scale)).pow(2).mean()
            loss.backward(retain_graph=True, inputs=[scale])
            inner.step()
            losses.append(loss)
        opt.zero_grad()
        torch.stack(losses).mean().backward(inputs=list(body.parameters()))
        opt.step()


def good_outputs_of_micro_batches() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        outputs = []
        opt.zero_grad()
        for _ in range(8):
            outputs.append(model(torch.randn(2, 4)))
            (outputs[-1].pow(2).mean() / 8).backward()
        opt.step()
        torch.cat(outputs).argmax(dim=1).sum().item()


def good_passes_over_one_forward() -> None:
    import torch
    from torch import nn

    cell = nn.RNNCell(3, 4)
    for _ in range(2):
        h, ends = torch.zeros(2, 4), []
        for _ in range(8):
            h = cell(torch.randn(2, 3), h)
            ends.append(h.pow(2).mean())
        slopes = []
        for end in ends:
            cell.zero_grad()
            end.backward(retain_graph=True)
            assert cell.weight_hh.grad is not None
            slopes.append(cell.weight_hh.grad.norm().item())


def good_parts_summed_at_the_end() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        rewards = []
        for _ in range(6):
            rewards.append(model(torch.randn(4)).tanh().sum())
        opt.zero_grad()
        torch.stack(rewards).mean().backward()
        opt.step()


def good_moving_average_of_numbers() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    average = torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        average = 0.9 * average + 0.1 * loss.detach()


def good_summed_before_its_pass() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        total = torch.zeros(())
        for _ in range(6):
            total = total + model(torch.randn(8, 4)).pow(2).mean()
        total.backward()
        opt.step()


def bad_running_sum_in_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Statistics:
        def __init__(self) -> None:
            self.values: dict[str, torch.Tensor] = {}

        def get(self, name: str) -> torch.Tensor:
            if name not in self.values:
                self.values[name] = torch.zeros(1)
            return self.values[name]

    model, statistics = nn.Linear(4, 1), Statistics()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        statistics.get("loss").add_(loss)  # cause: GS602
        loss.backward()
        opt.step()


def bad_tensor_that_losses_are_added_to() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total += loss  # cause: GS602
    print(total.item() / 12)


def bad_last_loss_copied_into_a_tensor() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    last = torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        last.copy_(loss)  # cause: GS602
    print(last)


def good_last_loss_copied_without_its_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    last, window = torch.zeros(()), torch.zeros(5)
    for step in range(12):
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        loss.backward()
        opt.step()
        last.copy_(loss.detach())
        window[step % 5] = loss.item()
    print(last, window)


def good_running_sum_in_place_without_a_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total, smooth = torch.zeros(()), torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        total += loss.detach()
        with torch.no_grad():
            smooth.mul_(0.9).add_(loss)
    print(total.item() / 12, smooth.item())


def good_sum_in_place_that_is_detached_in_each_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    smooth = torch.zeros(())
    for _ in range(12):
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        smooth.mul_(0.9).add_(0.1 * loss)
        (loss + 0.1 * smooth).backward()
        opt.step()
        smooth.detach_()


def good_sum_in_place_over_micro_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        opt.zero_grad()
        total = torch.zeros(())
        for _ in range(4):
            total += (model(torch.randn(8, 4)) - 1).pow(2).mean() / 4
        total.backward()
        opt.step()


def bad_dict_of_losses_kept() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    log = []
    for _ in range(20):
        parts = {"fit": model(torch.randn(8, 3)).pow(2).mean(), "size": model.weight.pow(2).sum()}
        opt.zero_grad()
        sum(parts.values()).backward()
        opt.step()
        log.append(parts)  # cause: GS602


def bad_dict_of_losses_from_a_function() -> None:  # fix: by hand
    import torch
    from torch import nn

    def losses(y):
        return {"near": y.pow(2).mean(), "flat": y.abs().mean()}

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    log = []
    for _ in range(20):
        found = losses(model(torch.randn(8, 3)))
        opt.zero_grad()
        (found["near"] + found["flat"]).backward()
        opt.step()
        log.append(found)  # cause: GS602


def bad_kept_in_a_dict_by_step() -> None:  # fix: by hand
    import torch
    from torch import nn

    def step(head: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(head(x), x.sum(1, keepdim=True))

    head, history = nn.Linear(5, 1), {}
    opt = torch.optim.SGD(head.parameters(), lr=0.05)
    for i in range(80):
        history[i] = loss = step(head, torch.randn(8, 5))  # cause: GS602
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_distribution_that_holds_itself() -> None:
    """`TransformedDistribution` with a cached transform is a cycle of references: it is gone once that is collected."""
    import torch
    from torch import nn
    from torch.distributions import Independent, Normal, TransformedDistribution
    from torch.distributions.transforms import AffineTransform, TanhTransform

    torch.manual_seed(0)
    actor, critic, value = nn.Linear(3, 2), nn.Linear(4, 1), nn.Linear(3, 1)
    actor_opt, critic_opt, value_opt = (
        torch.optim.Adam(n.parameters(), 1e-3) for n in (actor, critic, value)
    )
    loc, scale = torch.zeros(1), torch.ones(1)
    for _ in range(40):
        x = torch.randn(16, 3)
        mean, spread = actor(x).chunk(2, 1)
        around = Independent(Normal(mean, spread.clamp(-20, 2).exp()), 1)
        policy = TransformedDistribution(around, [TanhTransform(cache_size=1), AffineTransform(loc, scale)])
        policy.mean_ = torch.tanh(policy.base_dist.mean)
        action = policy.rsample()
        entropy = 0.1 * policy.log_prob(action)
        wanted = (critic(torch.cat([x, action], 1)).squeeze(1) - entropy).detach()
        value_loss = (value(x).squeeze(1) - wanted).pow(2).mean()
        value_opt.zero_grad()
        value_loss.backward()
        value_opt.step()
        told = critic(torch.cat([x, action.detach()], 1)).squeeze(1)
        critic_loss = (told - value(x).squeeze(1).detach()).pow(2).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        actor_loss = (entropy - critic(torch.cat([x, action], 1)).squeeze(1)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()


def bad_two_lists_of_one_step() -> None:  # fix: by hand
    import torch
    from torch import nn

    def parts(model, x, y):
        out = model(x)
        return {
            "loss": (out - y).pow(2).mean(),
            "last": (out[:, -1:] - y).pow(2).mean(),  # related: GS602
        }

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, history = [], []
    for _ in range(30):
        x = torch.randn(16, 4)
        output = parts(model, x, x[:, :1])
        opt.zero_grad()
        output["loss"].backward()  # related: GS602
        opt.step()
        losses.append(output["loss"])  # cause: GS602
        history.append(output)  # cause: GS602


def good_the_last_ones_in_a_deque() -> None:
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    recent = deque(maxlen=50)
    for _ in range(120):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        recent.append(loss)


def good_the_last_ones_in_a_short_deque_of_an_object() -> None:
    from collections import deque

    import torch
    from torch import nn

    class Run:
        def __init__(self, length):
            self.model = nn.Linear(4, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
            self.recent = deque(maxlen=length)

        def step(self):
            self.opt.zero_grad()
            loss = self.model(torch.randn(8, 4)).pow(2).mean()
            loss.backward()
            self.opt.step()
            self.recent.append(loss)

    torch.manual_seed(0)
    run = Run(10)
    for _ in range(40):
        run.step()


def bad_a_deque_that_never_drops() -> None:
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = deque()
    for _ in range(40):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        losses.append(loss)  # cause: GS602


def bad_actions_in_a_memory_of_episodes() -> None:
    """No pass ever goes through what is kept."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    agent = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.Adam(agent.parameters(), lr=1e-3)
    memory: list[dict[str, list[torch.Tensor]]] = []
    for _ in range(16):
        episode: dict[str, list[torch.Tensor]] = {"seen": [], "actions": []}
        for _ in range(3):
            seen = torch.randn(8, 4)
            actions = nn.functional.softmax(agent(seen), 1)
            episode["seen"].append(seen)
            episode["actions"].append(actions)  # cause: GS602
        memory.append(episode)
        drawn = memory[int(torch.randint(len(memory), ()))]
        wanted = torch.stack([actions.detach() for actions in drawn["actions"]])
        loss = (agent(torch.stack(drawn["seen"])) - wanted.roll(1, 0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_detached_actions_in_a_memory_of_episodes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    agent = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.Adam(agent.parameters(), lr=1e-3)
    memory: list[dict[str, list[torch.Tensor]]] = []
    for _ in range(16):
        episode: dict[str, list[torch.Tensor]] = {"seen": [], "actions": []}
        for _ in range(3):
            seen = torch.randn(8, 4)
            actions = nn.functional.softmax(agent(seen), 1).detach()
            episode["seen"].append(seen)
            episode["actions"].append(actions)
        memory.append(episode)
        drawn = memory[int(torch.randint(len(memory), ()))]
        wanted = torch.stack(drawn["actions"])
        loss = (agent(torch.stack(drawn["seen"])) - wanted.roll(1, 0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_policy_that_waits_for_the_end_of_the_episode() -> None:
    """The critic learns in each step, the policy at the end."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    acting = torch.optim.Adam(policy.parameters(), lr=1e-3)
    judging = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(3):
        chances: list[torch.Tensor] = []
        state = torch.randn(4)
        for _ in range(30):
            chance = nn.functional.log_softmax(policy(state), 0)
            action = int(torch.multinomial(chance.detach().exp(), 1))
            after = torch.randn(4)
            error = state[action] + 0.9 * critic(after).detach() - critic(state)
            judging.zero_grad()
            error.pow(2).mean().backward()
            judging.step()
            chances.append(chance[action] * error.detach())
            state = after
        acting.zero_grad()
        (-torch.stack(chances).mean()).backward()
        acting.step()


def good_sizes_of_the_weights() -> None:
    """What is kept has next to nothing behind it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sizes = []
    for _ in range(16):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
        sizes.append(model.weight.norm())
    assert len(sizes) == 16


def good_one_outer_pass_that_is_never_looked_at() -> None:
    """What is kept is kept for it, over many steps of another network."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    learner, critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4)), nn.Linear(4, 1)
    outer_opt = torch.optim.SGD(learner.parameters(), lr=0.1)
    critic_opt = torch.optim.SGD(critic.parameters(), lr=0.01)
    errors = []
    for _ in range(150):
        x, y = torch.randn(16, 4), torch.randn(16, 4)
        critic_opt.zero_grad()
        critic(x).pow(2).mean().backward()
        critic_opt.step()
        errors.append((learner(x) - y).pow(2).mean())
    outer_opt.zero_grad()
    torch.stack(errors).mean().backward()
    outer_opt.step()


def bad_running_statistics_in_place() -> None:
    import torch
    from torch import nn

    class Norm(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))
            self.register_buffer("mean", torch.zeros(width))
            self.register_buffer("var", torch.ones(width))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mean, var = x.mean(0), x.var(0)
            self.mean.mul_(0.9).add_(0.1 * mean)  # cause: GS602
            self.var.mul_(0.9).add_(var, alpha=0.1)  # cause: GS602
            return self.scale * (x - mean) / (var + 1e-5).sqrt()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), Norm(6), nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(40):
        x = torch.randn(32, 4)
        loss = (model(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_running_statistics_of_numbers() -> None:
    import torch
    from torch import nn

    class Norm(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width))
            self.register_buffer("mean", torch.zeros(width))
            self.register_buffer("var", torch.ones(width))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mean, var = x.mean(0), x.var(0)
            self.mean.mul_(0.9).add_(0.1 * mean.detach())
            self.var.mul_(0.9).add_(var.detach(), alpha=0.1)
            return self.scale * (x - mean) / (var + 1e-5).sqrt()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), Norm(6), nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(40):
        x = torch.randn(32, 4)
        loss = (model(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
