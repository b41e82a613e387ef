"""More programs of GS402: each bad one is reported at its marks, each good one by no rule."""


def bad_without_eval() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        for _ in range(2):
            scores = model(torch.randn(8, 4))  # cause: GS402
            (scores.argmax(dim=1) == 0).sum().item()


def bad_line_that_trains_too() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(2):
        for phase in ("train", "valid"):
            model.train(phase == "train")
            for _ in range(3):
                scores = model(torch.randn(8, 4))  # cause: GS402
                loss = nn.functional.cross_entropy(scores, target)
                if phase == "train":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                loss.item()


def bad_method_that_trains_too() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Policy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

        def act(self, x: torch.Tensor) -> int:
            return int(self.forward(x).argmax())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            result: torch.Tensor = self.second(h).log_softmax(-1)
            return result

    policy = Policy()
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(3):
        for _ in range(4):
            policy.act(torch.randn(1, 4))  # cause: GS402
        loss = -policy(torch.randn(8, 4))[:, 0].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_robust_accuracy() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), target).backward()
        opt.step()
    model.eval()
    for _ in range(2):
        x = torch.randn(8, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(nn.functional.cross_entropy(model(x), target), x)
        with torch.no_grad():
            (model(x + 0.1 * slope.sign()).argmax(dim=1) == target).sum().item()


def good_attack_test() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), target).backward()
        opt.step()
    model.eval()
    for _ in range(3):
        x = torch.randn(8, 4, requires_grad=True)
        loss = nn.functional.cross_entropy(model(x), target)
        model.zero_grad()
        loss.backward()
        assert x.grad is not None
        attacked = x + 0.1 * x.grad.sign()
        (model(attacked).argmax(dim=1) == target).sum().item()


def good_one_small_call_at_the_end() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
    model.eval()
    (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


def bad_loss_module_too() -> None:
    import torch
    from torch import nn

    model, measure = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2)), nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        opt.zero_grad()
        measure(model(torch.randn(8, 20)), torch.zeros(8, 2)).backward()
        opt.step()
        model.eval()
        for _ in range(2):
            scores = model(torch.randn(8, 20))  # cause: GS402
            measure(scores, torch.zeros(8, 2)).item()


def good_pass_in_a_hook() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Equilibrium(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(6, 6)
            self.outer = nn.Linear(4, 6)
            nn.init.uniform_(self.inner.weight, -0.1, 0.1)

        def turn(self, z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.inner(z) + self.outer(x))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                z = torch.zeros(len(x), 6)
                for _ in range(10):
                    z = self.turn(z, x)
            z = self.turn(z, x)
            point = z.detach().requires_grad_()
            again = self.turn(point, x)

            def solve(g: torch.Tensor) -> torch.Tensor:
                y = g
                for _ in range(8):
                    y = torch.autograd.grad(again, point, y, retain_graph=True)[0] + g
                return y

            z.register_hook(solve)
            return z

    model = nn.Sequential(Equilibrium(), nn.Linear(6, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        opt.step()


def bad_method_that_calls_the_layers() -> None:
    import torch
    from torch import nn

    class Ranker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(8))

        def features(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x).tanh()
            return x

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.features(x).mean(1)

        def predict(self, x: torch.Tensor) -> torch.Tensor:
            return self.features(x) @ self.layers[0].weight[0]

    model = Ranker()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(32, 16)
        opt.zero_grad()
        (model(x) - x[:, 0]).pow(2).mean().backward()
        opt.step()
    model.eval()
    for _ in range(20):
        scores = model.predict(torch.randn(32, 16))  # cause: GS402
        (scores.argsort()[0] < 10).sum().item()


def bad_query_of_an_adapted_model() -> None:
    import torch
    from torch import nn

    class Learner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
            self.head = nn.Parameter(torch.randn(1, 16) * 0.1)
            self.fast = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.body(x)
            return nn.functional.linear(hidden, self.head if self.fast is None else self.fast)

    model = Learner()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def adapted_loss() -> torch.Tensor:
        wanted, x, query = torch.randn(4, 1), torch.randn(8, 4), torch.randn(8, 4)
        model.fast = None
        inner = (model.forward(x) - x @ wanted).pow(2).mean()
        slopes = torch.autograd.grad(inner, [model.head, *model.body.parameters()], create_graph=True)
        model.fast = model.head - 0.1 * slopes[0]
        scores = model.forward(query)  # cause: GS402
        return (scores - query @ wanted).pow(2).mean()

    for _ in range(2):
        model.train()
        for _ in range(8):
            loss = adapted_loss()
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        sum(adapted_loss().item() for _ in range(8))


def good_query_by_the_line_that_adapts() -> None:
    import torch
    from torch import nn

    class Learner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
            self.head = nn.Parameter(torch.randn(1, 16) * 0.1)

        def forward(self, x: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(self.body(x), head)

    model = Learner()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def adapted_loss() -> torch.Tensor:
        wanted, x = torch.randn(4, 1), torch.randn(8, 4)
        head = model.head
        for turn in range(3):
            loss = (model.forward(x, head) - x @ wanted).pow(2).mean()
            if turn < 2:
                (slope,) = torch.autograd.grad(loss, head, create_graph=True)
                head = head - 0.1 * slope
        return loss

    for _ in range(2):
        model.train()
        for _ in range(8):
            loss = adapted_loss()
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        sum(adapted_loss().item() for _ in range(8))


def bad_losses_summed_with_their_graphs() -> None:
    import torch
    from torch import nn

    model, ce = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), nn.CrossEntropyLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        opt.zero_grad()
        ce(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
        opt.step()
        model.eval()
        total = torch.tensor(0.0)
        for _ in range(4):
            out = model(torch.randn(8, 4))  # cause: GS402
            total += ce(out, torch.zeros(8, dtype=torch.long))
        print(total.item() / 4)


def bad_state_of_an_evaluation() -> None:
    """Each call's state holds the graph of those before: the one mistake, told once."""
    import torch
    from torch import nn

    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    model = nn.ModuleDict({"cell": cell, "head": head})
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        model.train()
        h = torch.zeros(16, 8)
        for _ in range(5):
            h = cell(torch.randn(16, 4), h)
        opt.zero_grad()
        head(h).pow(2).mean().backward()
        opt.step()
        model.eval()
        h, total = torch.zeros(16, 8), 0.0
        for _ in range(120):
            h = cell(torch.randn(16, 4), h)  # cause: GS402
            total += head(h).pow(2).mean().item()


def bad_forward_called_past_the_module() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.GRUCell(4, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.zeros(x.shape[0], 8)
            for t in range(x.shape[1]):
                h = self.cell(x[:, t], h)
            result: torch.Tensor = self.out(h)
            return result

    model = Reader()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(6):
        x = torch.randn(8, 5, 4)
        model.train()
        opt.zero_grad()
        (model.forward(x) - 1).pow(2).mean().backward()
        opt.step()
        if step % 2 == 0:
            model.eval()
            out = model.forward(x)  # cause: GS402
            print(out.mean().item())


def good_one_look_by_a_call_of_its_own() -> None:
    """`__call__` is the program's own, so that only the parts are called: in one evaluation several times."""
    import torch
    from torch import nn

    class Repeated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = nn.Linear(4, 4)

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(3):
                x = torch.tanh(self.step(x))
            return x

    model = Repeated()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
    model.eval()
    print(model(torch.randn(8, 4)).mean().item())


def bad_logits_of_all_batches_joined() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    model.eval()
    total = []
    for _ in range(12):
        total.append(model(torch.randn(8, 4)))  # cause: GS402
    print(torch.cat(total).argmax(1).bincount())


def good_logits_of_all_batches_joined() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    model.eval()
    total = []
    with torch.no_grad():
        for _ in range(12):
            total.append(model(torch.randn(8, 4)))
    print(torch.cat(total).argmax(1).bincount())


def good_looked_at_one_by_one_without_a_pass() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    model.eval()
    for _ in range(12):
        print(model(torch.randn(8, 4)).argmax(1).bincount())


def good_joined_before_the_pass_is_written() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    steps = [model(torch.randn(8, 4)) for _ in range(12)]
    print(torch.stack(steps).sum())
