"""More programs of GS207: each bad one is reported at its marks, each good one by no rule."""


def bad_copy_trains() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters())  # cause: GS207
    model = copy.deepcopy(model)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        opt.step()


def bad_replaced_while_training() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.head = nn.Linear(3, 3), nn.Linear(3, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(torch.relu(self.trunk(x)))
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS207
    for step in range(6):
        if step == 3:
            model.head = nn.Linear(3, 2)
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        opt.step()


def bad_master_copy_never_written_back() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    master = [p.detach().clone().requires_grad_() for p in model.parameters()]
    opt = torch.optim.SGD(master, lr=0.1)  # cause: GS207
    for _ in range(5):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        for copy, p in zip(master, model.parameters(), strict=True):
            copy.grad = p.grad
        opt.step()


def bad_resumed_into_a_new_model() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters())  # cause: GS207
    for step in range(6):
        if step == 3:
            saved = model.state_dict()
            model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
            model.load_state_dict(saved)
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        opt.step()


def bad_weights_loaded_into_a_new_model() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters())  # cause: GS207
    saved = model.state_dict()
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    model.load_state_dict(saved)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        opt.step()


def bad_larger_model_takes_over() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS207
    for step in range(8):
        if step == 4:
            model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        opt.step()


def bad_copied_layer_with_an_optimizer_of_its_own() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    body = torch.optim.SGD(model[0].parameters(), lr=0.1)
    head = torch.optim.SGD(model[2].parameters(), lr=0.01)  # cause: GS207
    model[2] = copy.deepcopy(model[2])
    for _ in range(4):
        body.zero_grad()
        head.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        body.step()
        head.step()


def bad_made_anew_too_early() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
    tuned = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS207
    model[1] = nn.Linear(3, 2)
    for _ in range(3):
        tuned.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()  # effect: GS207
        tuned.step()


def bad_given_what_another_one_trains() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    opt_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
    opt_critic = torch.optim.SGD(actor.parameters(), lr=0.1)  # cause: GS207
    for _ in range(8):
        states, rewards = torch.randn(16, 4), torch.rand(16)
        chosen = torch.distributions.Categorical(logits=actor(states))
        actions = chosen.sample()
        delta = rewards - critic(states).squeeze(1)
        opt_critic.zero_grad()
        delta.pow(2).mean().backward()  # effect: GS207
        nn.utils.clip_grad_norm_(critic.parameters(), 5.0)
        opt_critic.step()
        opt_actor.zero_grad()
        (-delta.detach() * chosen.log_prob(actions)).mean().backward()
        opt_actor.step()


def good_resumed_into_the_same_model() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    opt = torch.optim.Adam(model.parameters())
    for step in range(6):
        if step == 2:
            saved = copy.deepcopy(model.state_dict())
        if step == 4:
            model.load_state_dict(saved)
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_copy_trained_by_its_own_optimizer() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(3):
        learner = copy.deepcopy(model)
        inner = torch.optim.SGD(learner.parameters(), lr=0.1)
        for _ in range(3):
            inner.zero_grad()
            learner(torch.randn(8, 3)).pow(2).mean().backward()
            inner.step()
        opt.zero_grad()
        for p, q in zip(model.parameters(), learner.parameters(), strict=True):
            p.grad = (p - q).detach()
        opt.step()


def good_one_model_after_the_other() -> None:
    import torch
    from torch import nn

    for _ in range(2):
        model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        opt = torch.optim.Adam(model.parameters())
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()


def good_master_copy() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    master = [p.detach().clone().requires_grad_() for p in model.parameters()]
    opt = torch.optim.SGD(master, lr=0.1)
    for _ in range(5):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        for copy, p in zip(master, model.parameters(), strict=True):
            copy.grad = p.grad
        opt.step()
        with torch.no_grad():
            for copy, p in zip(master, model.parameters(), strict=True):
                p.copy_(copy)


def good_group_added() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    model.append(nn.Linear(3, 2))
    opt.add_param_group({"params": model[1].parameters()})
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_target_network() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Linear(3, 3)
    target = copy.deepcopy(online)
    opt = torch.optim.SGD([*online.parameters(), *target.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 3)
        with torch.no_grad():
            aim = target(x)
        (online(x) - aim - 1).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(online.parameters(), target.parameters(), strict=True):
                q.lerp_(p, 0.01)


def good_other_head_later() -> None:
    import torch
    from torch import nn

    trunk, first, second = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD([*trunk.parameters(), *first.parameters(), *second.parameters()], lr=0.1)
    for head in (first, first, second, second):
        opt.zero_grad()
        head(trunk(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def bad_second_model_with_the_optimizer_of_the_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(16, 2), torch.randn(16, 1)
    first = nn.Sequential(nn.Linear(2, 1))
    opt = torch.optim.SGD(first.parameters(), lr=0.1)
    for _ in range(4):
        loss = (first(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    second = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(first.parameters(), lr=0.1)  # cause: GS207
    for _ in range(6):
        loss = (second(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS207
        opt.step()


def good_second_model_with_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(16, 2), torch.randn(16, 1)
    for size in (1, 4):
        model = nn.Sequential(nn.Linear(2, size), nn.ReLU(), nn.Linear(size, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            loss = (model(x) - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def bad_inner_loop_on_a_copy() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        fast = copy.deepcopy(model)  # cause: GS207
        inner = fast(torch.randn(8, 2)).pow(2).mean()
        gradients = torch.autograd.grad(inner, list(fast.parameters()))
        with torch.no_grad():
            for p, g in zip(fast.parameters(), gradients):
                p -= 0.1 * g
        opt.zero_grad()
        fast(torch.randn(8, 2)).pow(2).mean().backward()  # effect: GS207
        opt.step()


def good_inner_loop_whose_gradients_are_carried_over() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        fast = copy.deepcopy(model)
        inner = fast(torch.randn(8, 2)).pow(2).mean()
        gradients = torch.autograd.grad(inner, list(fast.parameters()))
        with torch.no_grad():
            for p, g in zip(fast.parameters(), gradients):
                p -= 0.1 * g
        opt.zero_grad()
        fast(torch.randn(8, 2)).pow(2).mean().backward()
        for p, q in zip(model.parameters(), fast.parameters()):
            assert q.grad is not None
            p.grad = q.grad.clone()
        opt.step()


def good_layers_replaced_between_rankings() -> None:
    """Of what is pruned away gradients were asked for, before an optimizer was made for what is left."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(8, 16), nn.Linear(16, 2)
    net = nn.Sequential(first, nn.ReLU(), last)
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    for _ in range(2):
        nn.functional.cross_entropy(net(x), y).backward()
        assert net[0].weight.grad is not None
        keep = net[0].weight.grad.abs().sum(1).argsort()[4:]
        first, last = nn.Linear(8, len(keep)), nn.Linear(len(keep), 2)
        with torch.no_grad():
            first.weight.copy_(net[0].weight[keep])
            last.weight.copy_(net[2].weight[:, keep])
        net[0], net[2] = first, last
        opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(4):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
