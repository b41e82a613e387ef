"""More programs of GS306: each bad one is reported at its marks, each good one by no rule."""


def bad_hidden_state_carried() -> None:
    import torch
    from torch import nn

    cell, out = nn.RNNCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    hidden = torch.zeros(2, 8)
    for _ in range(3):
        opt.zero_grad()
        hidden = cell(torch.randn(2, 4), hidden)  # cause: GS306
        loss = out(hidden).pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def bad_made_before_the_loop() -> None:  # fix: by hand
    import torch
    from torch import nn

    table, out = nn.Parameter(torch.randn(4, 8)), nn.Linear(8, 1)
    opt = torch.optim.SGD([table, *out.parameters()], lr=0.1)
    features = torch.randn(6, 4) @ table  # cause: GS306
    for _ in range(3):
        opt.zero_grad()
        loss = out(torch.relu(features)).pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def good_detached_hidden_state() -> None:
    import torch
    from torch import nn

    cell, out = nn.RNNCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    hidden = torch.zeros(2, 8)
    for _ in range(3):
        opt.zero_grad()
        hidden = cell(torch.randn(2, 4), hidden.detach())
        out(hidden).pow(2).mean().backward()
        opt.step()


def bad_state_of_a_time_loop() -> None:
    import torch
    from torch import nn

    cell, out = nn.GRUCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    hidden = torch.zeros(2, 8)
    for _ in range(3):
        opt.zero_grad()
        sequence = torch.randn(5, 2, 4)
        for x in sequence:
            hidden = cell(x, hidden)  # cause: GS306
        loss = out(hidden).pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def bad_state_kept_by_two_modules() -> None:
    import torch
    from torch import nn

    class Leaky(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.linear, self.mem = nn.Linear(size, 4), None

        def reset(self):
            self.mem = None

        def forward(self, x):
            current = self.linear(x)
            if self.mem is None:
                self.mem = torch.zeros_like(current)
            self.mem = 0.9 * self.mem + torch.tanh(current)  # cause: GS306
            return self.mem.sigmoid()

    torch.manual_seed(0)
    net = nn.Sequential(Leaky(3), nn.ReLU(), Leaky(4))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        x = torch.randn(2, 3)
        total = torch.stack([net(x) for _ in range(5)]).sum(0)
        loss = total.pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def bad_state_of_an_lstm_in_an_attribute() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 1)
            self.hidden = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))

        def forward(self, x):
            out, self.hidden = self.lstm(x, self.hidden)  # cause: GS306
            return self.head(out[:, -1])

    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(2, 5, 3)).pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def bad_kept_of_what_is_trained() -> None:
    import torch

    class Kernel:
        def __init__(self):
            self.size = None

        def __call__(self, x, scale):
            if self.size is None or self.size != len(x):
                self.size = len(x)
                self.window = torch.exp(-scale * torch.arange(4.0))  # cause: GS306
                self.norm = self.window.sum().sqrt()
            return (x * self.window / self.norm).sum()

    torch.manual_seed(0)
    kernel = Kernel()
    scale = torch.tensor(0.5, requires_grad=True)
    opt = torch.optim.SGD([scale], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = (kernel(torch.randn(4), scale) - 1) ** 2
        loss.backward()  # effect: GS306
        opt.step()


def bad_data_that_asks_for_a_gradient() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(8, 3, requires_grad=True)
    target = torch.sin(x).sum(1, keepdim=True)
    scaled = (target - target.mean()) / target.std()  # cause: GS306
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = (net(x) - scaled).pow(2).mean() + scaled.abs().mean()
        loss.backward()  # effect: GS306
        opt.step()


def bad_state_that_another_line_keeps() -> None:
    import torch
    from torch import nn

    class Memory(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.last = nn.Linear(6, 3), torch.zeros(2, 3)

        def forward(self, x):
            new = torch.tanh(self.cell(torch.cat([x, self.last], 1)))  # cause: GS306
            self.last = new
            return new

    torch.manual_seed(0)
    model = Memory()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(2, 3)).pow(2).mean()
        loss.backward()  # effect: GS306
        opt.step()


def good_kept_until_it_is_trained() -> None:
    import torch

    class Kernel:
        def __init__(self):
            self.size = None

        def __call__(self, x, scale):
            if self.size is None or scale.requires_grad:
                self.size = len(x)
                self.window = torch.exp(-scale * torch.arange(4.0))
            return (x * self.window).sum()

    torch.manual_seed(0)
    kernel = Kernel()
    scale = torch.tensor(0.5, requires_grad=True)
    opt = torch.optim.SGD([scale], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        ((kernel(torch.randn(4), scale) - 1) ** 2).backward()
        opt.step()


def bad_labels_with_a_graph_cut_into_batches() -> None:
    import torch

    def make(count):
        x = torch.randn(count, 3)
        weight = torch.randn(3, 1, requires_grad=True)
        y = torch.relu(x @ weight)  # cause: GS306
        return x, y

    def batches(x, y):
        for first in range(0, len(x), 4):
            yield x[first : first + 4], y[first : first + 4]

    torch.manual_seed(0)
    data, labels = make(12)
    w = torch.zeros(3, 1, requires_grad=True)
    for x, y in batches(data, labels):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()  # effect: GS306
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()


def bad_features_of_a_body_that_is_trained_already() -> None:
    import torch
    from torch import nn

    body, head = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 2)
    x, y = torch.randn(24, 4), torch.randint(0, 2, (24,))
    before = torch.optim.SGD(body.parameters(), lr=0.1)
    for _ in range(3):
        before.zero_grad()
        (body(x) - x).pow(2).mean().backward()
        before.step()
    features = body(x)  # cause: GS306
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for rows in torch.arange(24).split(8):
        loss = nn.functional.cross_entropy(head(features[rows]), y[rows])
        opt.zero_grad()
        loss.backward()  # effect: GS306
        opt.step()


def bad_features_of_a_body_that_nothing_trains() -> None:
    import torch
    from torch import nn

    body, head = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 2)
    x, y = torch.randn(24, 4), torch.randint(0, 2, (24,))
    features = body(x)  # cause: GS306
    opt = torch.optim.SGD(head.parameters(), lr=0.1)

    def step(rows: torch.Tensor) -> None:
        loss = nn.functional.cross_entropy(head(features[rows]), y[rows])
        opt.zero_grad()
        loss.backward()  # effect: GS306
        opt.step()

    for some in torch.arange(24).split(8):
        step(some)


def bad_features_of_a_body_that_is_trained_later() -> None:  # fix: by hand
    import torch
    from torch import nn

    body, head = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 2)
    x, y = torch.randn(24, 4), torch.randint(0, 2, (24,))
    opt, slow = torch.optim.SGD(head.parameters(), lr=0.1), torch.optim.SGD(body.parameters(), lr=0.1)
    for _ in range(2):
        features = body(x)  # cause: GS306
        for rows in torch.arange(24).split(8):
            opt.zero_grad()
            nn.functional.cross_entropy(head(features[rows]), y[rows]).backward()  # effect: GS306
            opt.step()
        slow.step()


def bad_one_discriminator_pass_for_both_losses() -> None:  # fix: by hand
    import torch
    from torch import nn

    made, judge = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    first = torch.optim.SGD(made.parameters(), lr=0.1)
    second = torch.optim.SGD(judge.parameters(), lr=0.1)
    drawn = made(torch.randn(5, 3))
    said = judge(drawn)
    wanted, right = (said - 1).pow(2).mean(), said.pow(2).mean()
    first.zero_grad()
    wanted.backward()  # cause: GS306
    first.step()
    second.zero_grad()
    right.backward()  # effect: GS306
    second.step()


def bad_made_samples_in_the_discriminators_pass() -> None:
    import torch
    from torch import nn

    generator, judge = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    first = torch.optim.SGD(generator.parameters(), lr=0.1)
    second = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(3):
        fake = generator(torch.randn(5, 3))
        second.zero_grad()
        loss = (judge(torch.randn(5, 3) + 2) - 1).pow(2).mean() + judge(fake).pow(2).mean()
        loss.backward()  # cause: GS306
        second.step()
        first.zero_grad()
        (judge(fake) - 1).pow(2).mean().backward()  # effect: GS306
        first.step()


def good_a_discriminator_pass_for_each_loss() -> None:
    import torch
    from torch import nn

    made, judge = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    first = torch.optim.SGD(made.parameters(), lr=0.1)
    second = torch.optim.SGD(judge.parameters(), lr=0.1)
    drawn = made(torch.randn(5, 3))
    first.zero_grad()
    (judge(drawn) - 1).pow(2).mean().backward()
    first.step()
    second.zero_grad()
    judge(drawn.detach()).pow(2).mean().backward()
    second.step()


def bad_state_set_to_zero_with_its_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Leaky(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drive = nn.Linear(3, 4)
            self.register_buffer("level", torch.zeros(8, 4))

        def reset(self) -> None:
            for state in self.buffers():
                state.zero_()  # cause: GS306

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            level = self.level
            for t in range(x.shape[1]):
                level = 0.8 * level.tanh() + self.drive(x[:, t])
            self.level = level
            return level

    model = Leaky()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.reset()
        loss = (model(torch.randn(8, 5, 3)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS306
        opt.step()


def good_state_set_to_zero_without_its_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Leaky(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drive = nn.Linear(3, 4)
            self.register_buffer("level", torch.zeros(8, 4))

        def reset(self) -> None:
            for state in self.buffers():
                state.zero_().detach_()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            level = self.level
            for t in range(x.shape[1]):
                level = 0.8 * level.tanh() + self.drive(x[:, t])
            self.level = level
            return level

    model = Leaky()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.reset()
        loss = (model(torch.randn(8, 5, 3)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_state_of_a_layer_among_others() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Leaky(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.state = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.state is None:
                self.state = torch.zeros(len(x), 4)
            self.state = 0.9 * self.state + torch.tanh(self.linear(x) * self.state)  # cause: GS306
            return self.state

    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Leaky() for _ in range(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    model = Stack()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = sum(model(torch.randn(2, 4)).pow(2).mean() for _ in range(2))
        opt.zero_grad()
        loss.backward()  # effect: GS306
        opt.step()
        model.layers[-1].state = model.layers[-1].state.detach()


def bad_weights_moved_between_two_passes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.no_grad()
    def climb(rho: float) -> list[torch.Tensor]:
        before = [p.clone() for p in model.parameters()]
        for p in model.parameters():
            p.add_(rho * p.grad)
        opt.zero_grad()
        return before

    for _ in range(3):
        x = torch.randn(8, 3)
        out = model(x)
        criterion(out, x.sum(1, keepdim=True)).backward()  # cause: GS306
        before = climb(0.05)
        criterion(out, x.sum(1, keepdim=True)).backward()  # effect: GS306
        with torch.no_grad():
            for p, old in zip(model.parameters(), before, strict=True):
                p.copy_(old)
        opt.step()
        opt.zero_grad()


def bad_loss_used_again_after_the_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    for _ in range(3):
        out = model(x)
        loss = (out - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # cause: GS306
        opt.step()
        opt.zero_grad()
        loss.backward()  # effect: GS306
        opt.step()


def good_forward_again_after_the_weights_moved() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        criterion(model(x), x.sum(1, keepdim=True)).backward()
        with torch.no_grad():
            before = [p.clone() for p in model.parameters()]
            for p in model.parameters():
                p.add_(0.05 * p.grad)
        opt.zero_grad()
        criterion(model(x), x.sum(1, keepdim=True)).backward()
        with torch.no_grad():
            for p, old in zip(model.parameters(), before, strict=True):
                p.copy_(old)
        opt.step()
        opt.zero_grad()


def bad_state_that_the_next_line_keeps() -> None:
    import torch
    from torch import nn

    class Forecaster(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(1, 4, batch_first=True)
            self.h, self.c = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out, state = self.lstm(x, (self.h, self.c))  # cause: GS306
            self.h, self.c = state
            return out.sum()

    model = Forecaster()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(2, 5, 1)).backward()  # effect: GS306
        opt.step()


def bad_queue_of_keys_with_their_graphs() -> None:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    net = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    queue = [torch.randn(8, 4)]
    for _ in range(4):
        x = torch.randn(8, 8)
        q = net(x)
        k = net(x + 0.01 * torch.randn(8, 8))  # cause: GS306
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ torch.cat(queue).T], 1)
        loss = cross_entropy(logits, torch.zeros(8, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()  # effect: GS306
        optimizer.step()
        queue = [*queue, k][-4:]


def good_queue_of_keys_without_graphs() -> None:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    net = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    queue = [torch.randn(8, 4)]
    for _ in range(4):
        x = torch.randn(8, 8)
        q = net(x)
        k = net(x + 0.01 * torch.randn(8, 8))
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ torch.cat(queue).T], 1)
        loss = cross_entropy(logits, torch.zeros(8, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue = [*queue, k.detach()][-4:]


def bad_the_critic_asks_twice_for_one_sample() -> None:  # fix: by hand
    import torch
    from torch import nn

    gen, critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(2, 1)
    opt_gen = torch.optim.SGD(gen.parameters(), lr=0.01)
    opt_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
    for _ in range(3):
        fake = gen(torch.randn(8, 2))  # cause: GS306
        for _ in range(2):
            opt_critic.zero_grad()
            scores = critic(fake)  # related: GS306
            (scores.mean() - critic(torch.randn(8, 2)).mean()).backward()  # effect: GS306
            opt_critic.step()
        opt_gen.zero_grad()
        (-critic(fake).mean()).backward()
        opt_gen.step()


def bad_old_probabilities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(2):
        state = torch.randn(32, 4)
        chosen = torch.distributions.Categorical(logits=policy(state)).sample()
        gained = (chosen == (state[:, 0] > 0)).float()
        old = torch.distributions.Categorical(logits=policy(state)).log_prob(chosen)  # cause: GS306
        for _ in range(3):
            now = torch.distributions.Categorical(logits=policy(state)).log_prob(chosen)
            loss = -((now - old).exp() * gained).mean()
            opt.zero_grad()
            loss.backward()  # effect: GS306
            opt.step()


def bad_term_of_what_was_computed_before() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(2):
        x, y, other = torch.randn(16, 4), torch.randn(16, 2), torch.randn(16, 4)
        out = model(x)  # cause: GS306
        for _ in range(3):
            loss = (out - y).pow(2).mean() + 0.1 * model(other).pow(2).mean()
            opt.zero_grad()
            loss.backward()  # effect: GS306
            opt.step()


def bad_parameter_scaled_once() -> None:  # fix: by hand
    import torch
    from torch import nn

    class SoftCodes(nn.Module):
        def __init__(self, width: int, codes: int) -> None:
            super().__init__()
            self.codebook = nn.Parameter(torch.randn(codes, width)) / width**0.5  # cause: GS306
            self.key = nn.Linear(width, codes)

        def forward(self, frame: torch.Tensor) -> torch.Tensor:
            return torch.einsum("bk,kd->bd", self.key(frame).softmax(-1), self.codebook)

    torch.manual_seed(21)
    coder = SoftCodes(12, 6)
    opt = torch.optim.NAdam(coder.parameters(), lr=5e-3)
    for _ in range(4):
        frame = torch.randn(32, 12)
        err = (coder(frame) - frame).abs().mean()
        opt.zero_grad()
        err.backward()  # effect: GS306
        opt.step()


def bad_criterion_goes_back_already() -> None:  # fix: by hand
    import torch
    from torch import nn

    def criterion(model, x, y, opt):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y) + nn.functional.cross_entropy(model(x + 0.1), y)
        loss.backward()  # cause: GS306
        return loss

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = criterion(model, torch.randn(8, 4), torch.randint(0, 3, (8,)), opt)
        loss.backward()  # effect: GS306
        opt.step()


def bad_several_passes_in_one_cached_block() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.nn.utils import parametrize

    class Positive(nn.Module):
        def forward(self, raw: torch.Tensor) -> torch.Tensor:
            return nn.functional.softplus(raw)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.Linear(4, 4), nn.Linear(4, 2)
            parametrize.register_parametrization(self.layer, "weight", Positive())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(2):
                x = torch.tanh(self.layer(x))
            return self.head(x)

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    with parametrize.cached():  # cause: GS306
        for _ in range(3):
            loss = (net(torch.randn(16, 4)) - torch.randn(16, 2)).pow(2).mean()
            opt.zero_grad()
            loss.backward()  # effect: GS306
            opt.step()


def good_cached_around_one_forward() -> None:
    import torch
    from torch import nn
    from torch.nn.utils import parametrize

    class Positive(nn.Module):
        def forward(self, raw: torch.Tensor) -> torch.Tensor:
            return nn.functional.softplus(raw)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.Linear(4, 4), nn.Linear(4, 2)
            parametrize.register_parametrization(self.layer, "weight", Positive())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(2):
                x = torch.tanh(self.layer(x))
            return self.head(x)

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        with parametrize.cached():
            out = net(torch.randn(16, 4))
        loss = (out - torch.randn(16, 2)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
