"""More programs of GS318: each bad one is reported at its marks, each good one by no rule."""


def bad_activation_map_of_a_frozen_backbone() -> None:
    import torch
    from torch import nn

    class Watched:
        def __init__(self, layer: nn.Module) -> None:
            self.gradient: torch.Tensor | None = None
            layer.register_full_backward_hook(self.keep)  # effect: GS318

        def keep(self, module: object, given: object, gradients: tuple[torch.Tensor, ...]) -> None:
            self.gradient = gradients[0]

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
    net = nn.Sequential(backbone, nn.Linear(8, 2))
    backbone.requires_grad_(False)
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    watched = Watched(backbone[2])
    image = torch.randn(1, 4)
    scores = net(image)  # cause: GS318
    scores[0, 1].backward()
    print(watched.gradient)


def bad_tokens() -> None:  # fix: by hand
    import torch
    from torch import nn

    seen = []
    words, head = nn.Embedding(10, 4), nn.Linear(4, 1)
    words.weight.requires_grad_(False)
    model = nn.Sequential(words, head)
    words.register_full_backward_hook(lambda *gradients: seen.append(gradients[2]))  # effect: GS318
    tokens = torch.randint(0, 10, (8,))
    model(tokens).sum().backward()  # cause: GS318


def good_a_hook_on_each_layer() -> None:
    import torch
    from torch import nn

    seen = []
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    for layer in model:
        layer.register_full_backward_hook(lambda *gradients: seen.append(gradients[2]))
    model(torch.randn(8, 4)).sum().backward()
    print(len(seen))


def good_hooked_after_the_last_pass() -> None:
    import torch
    from torch import nn

    seen = []
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    model[0].register_full_backward_hook(lambda *gradients: seen.append(gradients[2]))
    with torch.no_grad():
        print(model(torch.randn(2, 4)))


def good_frozen_until_later() -> None:
    import torch
    from torch import nn

    seen = []
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    body.register_full_backward_hook(lambda *gradients: seen.append(gradients[2]))
    body.requires_grad_(False)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for step in range(4):
        if step == 2:
            body.requires_grad_(True)
            opt.add_param_group({"params": body.parameters()})
        opt.zero_grad()
        head(torch.tanh(body(torch.randn(8, 4)))).pow(2).mean().backward()
        opt.step()
    print(len(seen))


def bad_monitor_of_frozen_layers() -> None:
    import torch
    from torch import nn

    class Monitor:
        def __init__(self, network: nn.Module) -> None:
            self.norms: dict[str, list[float]] = {}
            for name, layer in network.named_children():
                if isinstance(layer, nn.Linear):
                    layer.register_full_backward_pre_hook(self.keeper(name))  # effect: GS318

        def keeper(self, name):
            def keep(layer, gradients):
                self.norms.setdefault(name, []).append(gradients[0].norm().item())

            return keep

    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
    trunk.load_state_dict({name: value / 2 for name, value in trunk.state_dict().items()})
    head = nn.Linear(8, 2)
    trunk.requires_grad_(False)
    monitor = Monitor(trunk)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        loss = head(trunk(x)).pow(2).mean()  # cause: GS318
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(monitor.norms)


def good_monitor_of_a_part_that_is_trained() -> None:
    import torch
    from torch import nn

    norms: dict[str, list[float]] = {}

    def keeper(name):
        def keep(layer, gradients):
            norms.setdefault(name, []).append(gradients[0].norm().item())

        return keep

    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
    trunk.load_state_dict({name: value / 2 for name, value in trunk.state_dict().items()})
    head = nn.Linear(8, 2)
    trunk.requires_grad_(False)
    for name, layer in [*trunk.named_children(), ("head", head)]:
        layer.register_full_backward_pre_hook(keeper(name))
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(4):
        loss = head(trunk(torch.randn(16, 4))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(norms))
