"""More programs of GS705: each bad one is reported at its marks, each good one by no rule."""


def bad_small_weights() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [layer for _ in range(7) for layer in (nn.Linear(8, 8), nn.Tanh())]
    model = nn.Sequential(*layers, nn.Linear(8, 1))
    for m in model:
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=0.01)
            nn.init.zeros_(m.bias)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        out = model(torch.randn(8, 8))  # cause: GS705
        loss = (out - 1).pow(2).mean()
        loss.backward()  # effect: GS705
        opt.step()


def bad_large_from_the_start() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Linear(64, 64) for _ in range(12)]
    for layer in layers:
        nn.init.normal_(layer.weight)
    model = nn.Sequential(*(m for layer in layers for m in (layer, nn.ReLU())), nn.Linear(64, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(4):
        opt.zero_grad()
        loss = (model(torch.randn(8, 64)) - 1).pow(2).mean()
        loss.backward()  # cause: GS705
        opt.step()


def good_zero_initialised() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)) for _ in range(5)]
    scale = [nn.Parameter(torch.full((8,), 1e-6)) for _ in blocks]
    head = nn.Linear(8, 1)
    opt = torch.optim.SGD([p for m in (*blocks, head) for p in m.parameters()] + scale, lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        x = torch.randn(8, 8)
        for block, size in zip(blocks, scale, strict=True):
            x = x + size * block(x)
        head(x).pow(2).mean().backward()
        opt.step()


def good_zero_layer_at_the_end_of_a_branch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    branch = nn.Sequential(*(m for _ in range(6) for m in (nn.Linear(16, 16), nn.SiLU())))
    zero, trunk, head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 1)
    nn.init.zeros_(zero.weight)
    nn.init.zeros_(zero.bias)
    for m in (trunk, head):
        m.requires_grad_(False)
    opt = torch.optim.SGD([*branch.parameters(), *zero.parameters()], lr=1e-5)
    for _ in range(20):
        x = torch.randn(8, 16)
        opt.zero_grad()
        head(trunk(x) + zero(branch(x))).sub(1).pow(2).mean().backward()
        opt.step()


def good_actor_and_its_critic() -> None:
    import torch
    from torch import nn

    def net(inputs: int, outputs: int) -> nn.Sequential:
        first, second, last = nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)
        nn.init.uniform_(last.weight, -3e-3, 3e-3)
        nn.init.uniform_(last.bias, -3e-3, 3e-3)
        return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)

    torch.manual_seed(0)
    actor, critic = net(8, 2), net(10, 1)
    opt_a = torch.optim.SGD(actor.parameters(), lr=1e-4)
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(40):
        state, action, value = torch.randn(64, 8), torch.randn(64, 2), torch.randn(64, 1)
        opt_c.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, action], 1)), value).backward()
        opt_c.step()
        opt_a.zero_grad()
        critic(torch.cat([state, actor(state)], 1)).mean().neg().backward()
        opt_a.step()


def good_small_gradients_for_adam() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(*(m for _ in range(9) for m in (nn.Linear(8, 8), nn.Sigmoid())), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), eps=1e-15)
    for _ in range(20):
        opt.zero_grad()
        model(torch.randn(8, 8)).sub(1).pow(2).mean().backward()
        opt.step()


def bad_vanishing_until_nothing_is_left() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(1)
    layers = [layer for _ in range(12) for layer in (nn.Linear(16, 16), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 16)
    for _ in range(300):
        opt.zero_grad()
        out = model(x)  # cause: GS705
        loss = (out - 1).pow(2).mean()
        loss.backward()  # effect: GS705
        opt.step()


def good_bias_before_normalisation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [m for _ in range(3) for m in (nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())]
    critic = [m for _ in range(3) for m in (nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())]
    model = nn.Sequential(*blocks, *critic, nn.Flatten(), nn.Linear(128, 1))
    opt = torch.optim.Adam(model.parameters())
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 8, 4, 4)).sub(1).pow(2).mean().backward()
        opt.step()


def good_clipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        opt.zero_grad()
        (model(torch.randn(8, 4)).pow(2).mean() * 10.0 ** (2 * step)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


def good_learning() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.randn(32, 4)
    for _ in range(30):
        opt.zero_grad()
        (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean().backward()
        opt.step()


def good_attack_on_a_trained_model() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    for _ in range(300):
        loss = F.cross_entropy(model(x + 0.2 * x.sign()), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    delta = torch.zeros(4, requires_grad=True)
    attack = torch.optim.Adam([delta], lr=0.1)
    for _ in range(60):
        loss = -F.cross_entropy(model(x + 0.2 * x.sign() + delta), y)
        attack.zero_grad()
        loss.backward()
        attack.step()


def bad_beside_a_shallow_network() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [layer for _ in range(9) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
    deep = nn.Sequential(*layers, nn.Linear(8, 1))
    shallow = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD([*deep.parameters(), *shallow.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        first = shallow(torch.randn(8, 8)).pow(2).mean()
        second = (deep(torch.randn(8, 8)) - 1).pow(2).mean()  # cause: GS705
        (first + second).backward()  # effect: GS705
        opt.step()


def bad_where_another_loss_is_scaled() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [layer for _ in range(9) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
    deep, other = nn.Sequential(*layers, nn.Linear(8, 1)), nn.Linear(8, 1)
    opt = torch.optim.SGD(deep.parameters(), lr=0.1)
    theirs = torch.optim.SGD(other.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(4):
        theirs.zero_grad()
        scaler.scale(other(torch.randn(8, 8)).pow(2).mean()).backward()
        scaler.step(theirs)
        scaler.update()
        opt.zero_grad()
        out = deep(torch.randn(8, 8))  # cause: GS705
        (out - 1).pow(2).mean().backward()  # effect: GS705
        opt.step()


def bad_rate_too_high_for_most_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(20, 50) * torch.tensor([0.2, 1.4]).repeat(10)[:, None]
    target = 0.1 * data.sum(1, keepdim=True)
    model = nn.Linear(50, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.084)
    for _ in range(100):
        for rows in torch.arange(20).view(5, 4)[:, torch.randperm(4)].T.contiguous():
            opt.zero_grad()
            loss = (model(data[rows]) - target[rows]).pow(2).mean()
            loss.backward()  # cause: GS705
            opt.step()


def bad_product_without_a_bound() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, other = nn.Embedding(20, 4), nn.Embedding(20, 4)
    opt = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
    for _ in range(60):
        ids = torch.randint(0, 20, (64,))
        loss = -(one(ids) * other(ids)).sum(1).sum()  # cause: GS705
        opt.zero_grad()
        loss.backward()  # effect: GS705
        opt.step()


def bad_tower_of_products_with_small_weights() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Tower(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ParameterList([nn.Parameter(torch.randn(16, 16) * 0.02) for _ in range(10)])
            self.shift = nn.ParameterList([nn.Parameter(torch.zeros(16)) for _ in range(10)])
            self.last = nn.Linear(16, 2)

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            for w, b in zip(self.blocks, self.shift, strict=True):
                h = torch.tanh(torch.einsum("nd,de->ne", h, w) + b)  # cause: GS705
            return self.last(h)

    torch.manual_seed(0)
    wave = torch.randn(64, 16)
    voiced = (wave[:, :4].sum(1) > 0).long()
    tower = Tower()
    opt = torch.optim.SGD(tower.parameters(), lr=0.05)
    for _ in range(8):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(tower(wave), voiced)
        loss.backward()  # effect: GS705
        opt.step()


def good_tower_of_products_with_what_came_before_added() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [nn.Parameter(torch.randn(16, 16) / 4) for _ in range(10)]
    shift = [nn.Parameter(torch.zeros(16)) for _ in range(10)]
    last = nn.Linear(16, 2)
    wave = torch.randn(64, 16)
    voiced = (wave[:, :4].sum(1) > 0).long()
    opt = torch.optim.SGD([*blocks, *shift, *last.parameters()], lr=0.05)
    for _ in range(8):
        h = wave
        for w, b in zip(blocks, shift, strict=True):
            h = h + 0.3 * torch.tanh(torch.einsum("nd,de->ne", h, w) + b)
        opt.zero_grad()
        nn.functional.cross_entropy(last(h), voiced).backward()
        opt.step()
