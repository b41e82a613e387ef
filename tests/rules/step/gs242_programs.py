"""More programs of GS242: each bad one is reported at its marks, each good one by no rule."""


def bad_synchronised_by_nobody() -> None:  # fix: by hand
    import torch
    from torch import nn

    def network() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    class Agent:
        def __init__(self) -> None:
            self.net, self.target = network(), network()
            self.target.load_state_dict(self.net.state_dict())
            self.opt = torch.optim.Adam(self.net.parameters(), lr=0.001)

        def synchronise(self) -> None:
            self.target.load_state_dict(self.net.state_dict())

        def learn(self) -> None:
            state, after = torch.randn(32, 4), torch.randn(32, 4)
            action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
            ended = (torch.rand(32, 1) < 0.1).float()
            with torch.no_grad():
                best = self.target(after).max(1, keepdim=True).values
            wanted = reward + 0.9 * (1 - ended) * best  # cause: GS242
            loss = nn.functional.smooth_l1_loss(self.net(state).gather(1, action), wanted)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()  # effect: GS242

    torch.manual_seed(0)
    agent = Agent()
    for _ in range(150):
        agent.learn()


def bad_synchronised_once() -> None:
    import copy

    import torch
    from torch import nn

    def start_alike(current: nn.Module, other: nn.Module) -> None:
        other.load_state_dict(current.state_dict())

    def learn(net: nn.Module, target: nn.Module, opt: torch.optim.Optimizer) -> None:
        state, after = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(2, (32, 1)), after[:, :1].sign()
        with torch.no_grad():
            best = target(after).max(1, keepdim=True).values
            wanted = reward + 0.9 * best  # cause: GS242
        loss = nn.functional.mse_loss(net(state).gather(1, action), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS242

    def main() -> None:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        target = copy.deepcopy(net)
        start_alike(net, target)
        opt = torch.optim.Adam(net.parameters(), lr=0.001)
        for _ in range(3):
            for _ in range(50):
                learn(net, target, opt)
            print("fifty")

    main()


def good_synchronised_in_a_second_phase() -> None:
    import copy

    import torch
    from torch import nn

    def update_target(current: nn.Module, other: nn.Module) -> None:
        other.load_state_dict(current.state_dict())

    def phase(steps: int) -> None:
        update_target(net, target)
        for _ in range(steps):
            state, after = torch.randn(32, 4), torch.randn(32, 4)
            action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
            with torch.no_grad():
                wanted = reward + 0.9 * target(after).max(1, keepdim=True).values
            loss = nn.functional.mse_loss(net(state).gather(1, action), wanted)
            opt.zero_grad()
            loss.backward()
            opt.step()

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(1):
        phase(150)


def good_synchronised_under_a_condition() -> None:
    import copy

    import torch
    from torch import nn

    def update_target(current: nn.Module, other: nn.Module) -> None:
        other.load_state_dict(current.state_dict())

    def after_a_step(count: int) -> None:
        if count % 1000 == 0:
            update_target(net, target)

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(net)
    update_target(net, target)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for count in range(1, 151):
        state, after = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(after).max(1, keepdim=True).values
        loss = nn.functional.mse_loss(net(state).gather(1, action), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        after_a_step(count)


def good_synchronised_later() -> None:
    import torch
    from torch import nn

    def network() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    class Learner:
        def __init__(self) -> None:
            self.steps = 0
            self.net, self.target = network(), network()
            self.target.load_state_dict(self.net.state_dict())
            self.opt = torch.optim.Adam(self.net.parameters(), lr=0.001)

        def learn_once(self) -> None:
            state, after = torch.randn(32, 4), torch.randn(32, 4)
            action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
            with torch.no_grad():
                wanted = reward + 0.9 * self.target(after).max(1, keepdim=True).values
            loss = nn.functional.smooth_l1_loss(self.net(state).gather(1, action), wanted)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.steps += 1
            if self.steps % 5000 == 0:
                self.target.load_state_dict(self.net.state_dict())

    torch.manual_seed(0)
    learner = Learner()
    for _ in range(150):
        learner.learn_once()


def good_teacher() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    teacher = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(150):
        x = torch.randn(32, 4)
        with torch.no_grad():
            wanted = teacher(x + 0.1 * torch.randn(32, 4))
        loss = nn.functional.mse_loss(net(x), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_data_of_another_network() -> None:
    import torch
    from torch import nn

    def network() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    torch.manual_seed(0)
    truth, model = network(), network()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        x = torch.randn(32, 4)
        with torch.no_grad():
            y = truth(x) + 0.02 * torch.randn(32, 1)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_update_that_nobody_calls() -> None:
    import copy

    import torch
    from torch import nn

    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
            self.follower = copy.deepcopy(self.online)
            self.follower.requires_grad_(False)
            self.predictor = nn.Linear(4, 4)

        @torch.no_grad()
        def move_follower(self) -> None:  # cause: GS242
            for mine, theirs in zip(self.follower.parameters(), self.online.parameters(), strict=True):
                mine.mul_(0.99).add_(theirs, alpha=0.01)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                wanted = self.follower(y)
            return (self.predictor(self.online(x)) - wanted).pow(2).mean()

    torch.manual_seed(0)
    agent = Agent()
    opt = torch.optim.Adam([p for p in agent.parameters() if p.requires_grad], lr=0.001)
    for _ in range(120):
        x = torch.randn(32, 6)
        loss = agent(x + 0.1 * torch.randn(32, 6), x + 0.1 * torch.randn(32, 6))
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS242


def good_update_that_is_called() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    online = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
    follower = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=0.001)

    @torch.no_grad()
    def follow() -> None:
        for mine, theirs in zip(follower.parameters(), online.parameters(), strict=True):
            mine.lerp_(theirs, 0.01)

    for _ in range(120):
        x = torch.randn(32, 6)
        with torch.no_grad():
            wanted = follower(x)
        loss = (online(x + 0.1 * torch.randn(32, 6)) - wanted - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        follow()


def good_update_that_is_handed_over() -> None:
    import copy
    from collections.abc import Callable

    import torch
    from torch import nn

    torch.manual_seed(0)
    online = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    follower = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=0.001)

    def follow() -> None:
        follower.load_state_dict(online.state_dict())

    hooks: dict[int, Callable[[], None]] = {1000: follow}
    for turn in range(120):
        x = torch.randn(32, 6)
        with torch.no_grad():
            wanted = follower(x)
        loss = (online(x) - wanted - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if turn in hooks:
            hooks[turn]()


def good_teacher_of_the_same_form() -> None:
    """What the student was, kept beside it (learning without forgetting): nothing is to follow."""
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    teacher = copy.deepcopy(student).eval().requires_grad_(False)
    opt = torch.optim.Adam(student.parameters(), lr=0.001)
    for _ in range(120):
        x, y = torch.randn(32, 6), torch.randint(4, (32,))
        with torch.no_grad():
            known = teacher(x)
        answers = student(x)
        loss = nn.functional.cross_entropy(answers, y) + 0.1 * nn.functional.mse_loss(answers, known)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_double_estimate_added_with_alpha() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Agent:
        def __init__(self) -> None:
            self.online, self.slow = (
                nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)) for _ in range(2)
            )
            self.slow.load_state_dict(self.online.state_dict())
            self.optim = torch.optim.RMSprop(self.online.parameters(), lr=0.001)

        @torch.no_grad()
        def wanted(self, gain: torch.Tensor, after: torch.Tensor, done: torch.Tensor) -> torch.Tensor:
            choice = nn.functional.one_hot(self.online(after).argmax(-1), 2).float()
            future = torch.einsum("ba,ba->b", self.slow(after), choice)
            return torch.where(done, gain, torch.add(gain, future, alpha=0.9))  # cause: GS242

        def learn(self) -> None:
            obs, after, act = torch.randn(32, 4), torch.randn(32, 4), torch.randint(2, (32,))
            goal = self.wanted(torch.randn(32), after, torch.rand(32) < 0.1)
            guess = self.online(obs)[torch.arange(32), act]
            loss = nn.functional.smooth_l1_loss(guess, goal)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()  # effect: GS242

    torch.manual_seed(0)
    agent = Agent()
    for _ in range(150):
        agent.learn()


def good_noise_added_with_alpha() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher, student = (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)) for _ in range(2))
    opt = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(150):
        x = torch.randn(32, 4)
        with torch.no_grad():
            wanted = torch.add(teacher(x), torch.randn(32, 2), alpha=0.1)
        loss = nn.functional.mse_loss(student(x), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_fresh_copy_now_and_then() -> None:
    import copy

    import torch
    from torch import nn

    def frozen_copy(net: nn.Module) -> nn.Module:
        made = copy.deepcopy(net)
        for parameter in made.parameters():
            parameter.requires_grad = False
        return made

    torch.manual_seed(0)
    agent = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    target_agent = frozen_copy(agent)
    opt = torch.optim.Adam(agent.parameters(), lr=0.001)
    for step in range(1, 150):
        state, after = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(2, (32, 1)), torch.randn(32)
        wanted = reward + 0.9 * target_agent(after).max(dim=1)[0]
        loss = (agent(state).gather(1, action).squeeze(1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 140 == 0:
            target_agent = frozen_copy(agent)


def bad_the_update_is_loaded_into_the_trained_one() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(150):
        state, after, reward = torch.randn(32, 4), torch.randn(32, 4), torch.randn(32, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(after)  # effect: GS242
        loss = nn.functional.mse_loss(net(state), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        old, new = target.state_dict(), net.state_dict()
        net.load_state_dict({name: 0.02 * new[name] + 0.98 * old[name] for name in new})  # cause: GS242


def good_the_update_is_loaded_into_the_copy() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(150):
        state, after, reward = torch.randn(32, 4), torch.randn(32, 4), torch.randn(32, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(after)
        loss = nn.functional.mse_loss(net(state), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        old, new = target.state_dict(), net.state_dict()
        target.load_state_dict({name: 0.02 * new[name] + 0.98 * old[name] for name in new})
