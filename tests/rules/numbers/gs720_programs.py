"""More programs of GS720: each bad one is reported at its marks, each good one by no rule."""


def bad_zeros_before_a_relu() -> None:
    import torch
    from torch import nn

    class Mixer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.weigh = nn.Linear(4, 4), nn.Linear(4, 2, bias=False)
            nn.init.zeros_(self.weigh.weight)  # cause: GS720

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            both = torch.stack([x, self.net(x)], 1)
            weights = torch.relu(self.weigh(x))  # effect: GS720
            return self.net(x) + (weights.unsqueeze(-1) * both).sum(1)

    torch.manual_seed(0)
    model = nn.Sequential(Mixer(), Mixer(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        x = torch.randn(16, 4)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.pow(2).sum(1, keepdim=True)).backward()
        opt.step()


def good_zeros_before_what_is_added() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
            nn.init.zeros_(self.down.weight)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + self.down(torch.relu(self.up(x))))

    torch.manual_seed(0)
    model = nn.Sequential(Block(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        x = torch.randn(16, 4)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.pow(2).sum(1, keepdim=True)).backward()
        opt.step()


def bad_dead_from_the_start() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(8, 16), nn.Linear(16, 3)
    nn.init.constant_(first.bias, -50.0)
    opt = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-3)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    for _ in range(10):
        opt.zero_grad()
        hidden = torch.relu(first(x))  # cause: GS720
        nn.functional.cross_entropy(second(hidden), y).backward()  # effect: GS720
        opt.step()


def bad_convolutions() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    head = nn.Linear(72, 3)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=10.0)  # cause: GS720
    x, y = torch.rand(32, 1, 8, 8), torch.randint(0, 3, (32,))
    for _ in range(20):
        opt.zero_grad()
        nn.functional.cross_entropy(head(body(x)), y).backward()  # effect: GS720
        opt.step()


def good_head_of_a_model_whose_body_is_frozen() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 3)
    body.requires_grad_(False)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    for _ in range(20):
        opt.zero_grad()
        nn.functional.cross_entropy(head(body(x)), y).backward()
        opt.step()


def good_branch_that_is_off_at_times() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, side, head = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 3)
    opt = torch.optim.SGD([*body.parameters(), *side.parameters(), *head.parameters()], lr=0.1)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    for step in range(20):
        opt.zero_grad()
        hidden = torch.relu(body(x)) + (step % 2) * torch.relu(side(x))
        nn.functional.cross_entropy(head(hidden), y).backward()
        opt.step()


def good_expert_that_nothing_is_sent_to() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    experts, head = nn.ModuleList(nn.Linear(8, 16) for _ in range(3)), nn.Linear(16, 3)
    opt = torch.optim.SGD([*experts.parameters(), *head.parameters()], lr=0.1)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    for step in range(24):
        opt.zero_grad()
        chosen = torch.randint(0, 3 if step < 16 else 2, (64,))
        hidden = sum(torch.relu(one(x)) * (chosen == i)[:, None] for i, one in enumerate(experts))
        nn.functional.cross_entropy(head(hidden), y).backward()
        opt.step()


def good_triplets_that_keep_their_margin() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    anchor = torch.randn(16, 4)
    near, far = anchor + 0.01 * torch.randn(16, 4), torch.randn(16, 4) - 4
    for _ in range(30):
        opt.zero_grad()
        nn.functional.triplet_margin_loss(model(anchor), model(near), model(far), margin=0.2).backward()
        opt.step()


def bad_the_sum_of_eight_losses_has_put_it_off() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    digits = torch.randn(512, 8) * 2
    kinds = digits[:, :4].argmax(1)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    sgd = torch.optim.SGD(net.parameters(), lr=0.9, momentum=0.9)
    for step, rows in enumerate(torch.arange(512).repeat(6).split(16)):
        loss = nn.functional.cross_entropy(net(digits[rows]), kinds[rows])  # effect: GS720
        loss.backward()  # cause: GS720
        if (step + 1) % 8 == 0:
            sgd.step()
            sgd.zero_grad()


def bad_weights_that_begin_far_too_large() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    waves = torch.randn(256, 40)
    kinds = (waves[:, :20].sum(1) > waves[:, 20:].sum(1)).long()
    net = nn.Sequential(
        nn.Linear(40, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 16),
        nn.ReLU(),
        nn.Linear(16, 2),
    )
    for part in net:
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=0.7)  # cause: GS720
    sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for rows in torch.arange(256).repeat(10).split(32):
        loss = nn.functional.cross_entropy(net(waves[rows]), kinds[rows])  # effect: GS720
        sgd.zero_grad()
        loss.backward()
        sgd.step()


def bad_relu_that_two_inputs_go_through() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, move = nn.Linear(8, 2), nn.Linear(2, 2)
    first, second = nn.Linear(2, 4), nn.Linear(4, 8)
    nn.init.constant_(first.bias, -50.0)
    parts = nn.ModuleList([encoder, move, first, second])
    opt = torch.optim.Adam(parts.parameters(), lr=1e-3)

    def decode(state: torch.Tensor) -> torch.Tensor:
        return second(first(state).relu())  # cause: GS720

    for _ in range(16):
        x = torch.randn(32, 8)
        state = encoder(x)
        loss = (decode(state) - x).pow(2).mean() + (decode(state + move(state)) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS720
        opt.step()


def bad_rate_that_the_program_writes() -> None:  # fix: by hand
    import torch
    from torch import nn

    def set_rate(opt: torch.optim.Optimizer, rate: float) -> None:
        for group in opt.param_groups:
            group["lr"] = rate

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS720
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    for _ in range(20):
        set_rate(opt, 10.0)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)  # effect: GS720
        loss.backward()
        opt.step()


def bad_clamped_at_zero() -> None:
    import torch
    from torch import nn

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 1)

        def forward(self, state: torch.Tensor) -> torch.Tensor:
            h = torch.clamp(self.a(state), min=0.0)
            h = torch.clamp(self.b(h), min=0.0)  # effect: GS720
            return self.c(h).squeeze(1)

    torch.manual_seed(0)
    critic = Critic()
    opt = torch.optim.SGD(critic.parameters(), lr=5.0, momentum=0.9)  # cause: GS720
    state = torch.randn(64, 6)
    returns = state.abs().sum(1)
    for _ in range(20):
        opt.zero_grad()
        nn.functional.smooth_l1_loss(critic(state), returns).backward()
        opt.step()


def bad_written_out() -> None:
    import torch
    from torch import nn

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 1)

        def forward(self, state: torch.Tensor) -> torch.Tensor:
            h = torch.maximum(self.a(state), torch.zeros(()))
            h = self.b(h)
            h = h * (h > 0)  # effect: GS720
            return self.c(h).squeeze(1)

    torch.manual_seed(0)
    critic = Critic()
    opt = torch.optim.SGD(critic.parameters(), lr=5.0, momentum=0.9)  # cause: GS720
    state = torch.randn(64, 6)
    returns = state.abs().sum(1)
    for _ in range(20):
        opt.zero_grad()
        nn.functional.smooth_l1_loss(critic(state), returns).backward()
        opt.step()


def good_clamped_at_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second, last = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([p for m in (first, second, last) for p in m.parameters()], lr=0.05)
    state = torch.randn(64, 6)
    returns = state.abs().sum(1, keepdim=True)
    for _ in range(20):
        h = second(first(state).clamp(min=0))
        h = torch.where(h > 0, h, torch.zeros_like(h))
        opt.zero_grad()
        nn.functional.smooth_l1_loss(last(h), returns).backward()
        opt.step()
