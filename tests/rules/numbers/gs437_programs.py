"""Further programs of GS437."""


def bad_by_a_function_called_twice() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

        def branch(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.layers(x).squeeze(1)
            return found

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            mean = self.branch(x)  # related: GS437
            spread = self.branch(x)  # cause: GS437
            return mean, spread

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        mean, spread = model(x)
        opt.zero_grad()
        first = nn.functional.mse_loss(mean, x.mean(1))
        (first + nn.functional.mse_loss(spread, x.std(1))).backward()  # effect: GS437
        opt.step()


def good_labels_mixed() -> None:
    """One output with two labels, and the network called once for each."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x, other = torch.randn(16, 4), torch.randn(16, 4)
        mixed = 0.7 * x + 0.3 * other
        loss = 0.7 * nn.functional.cross_entropy(model(mixed), x.argmax(1) % 3)
        loss = loss + 0.3 * nn.functional.cross_entropy(model(mixed), other.argmax(1) % 3)
        scores = model(mixed)
        loss = loss + nn.functional.cross_entropy(scores, x.argmax(1) % 3)
        loss = loss + nn.functional.cross_entropy(scores, other.argmax(1) % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_loss_within_the_module() -> None:
    """A module that computes the loss of mixed labels, calling its network for each."""
    import torch
    from torch import nn

    class Mixed(nn.Module):
        def __init__(self, net: nn.Module) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
            first = nn.functional.cross_entropy(self.net(x), one)
            return 0.6 * first + 0.4 * nn.functional.cross_entropy(self.net(x), other)

    torch.manual_seed(0)
    model = Mixed(nn.Linear(4, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        opt.zero_grad()
        model(x, x[:, :3].argmax(1), x[:, 1:].argmax(1)).backward()
        opt.step()


def good_with_dropout_between() -> None:
    """Two draws of one network's answer, and two labels that an annotator each has given."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.drop, self.head = nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.body(x))
            return self.head(self.drop(hidden)), self.head(self.drop(hidden))

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        one, other = model(x)
        loss = nn.functional.cross_entropy(one, x[:, :3].argmax(1))
        loss = loss + nn.functional.cross_entropy(other, (x + 0.1 * torch.randn_like(x))[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_layer_for_two_parts() -> None:
    """The same layer for the two halves of the input: two values, each with its target."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(4, 8), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.body(x))
            return self.head(hidden[:, :4]), self.head(hidden[:, 4:])

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        one, other = model(x)
        loss = nn.functional.cross_entropy(one, (x[:, 0] > 0).long())
        loss = loss + nn.functional.cross_entropy(other, (x[:, 1] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_heads_that_begin_alike() -> None:
    """Two heads with the same numbers at first: a copy that is trained on its own target."""
    import copy

    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)
            self.other = copy.deepcopy(self.head)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.relu(self.body(x))
            return self.head(hidden), self.other(hidden)

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(16, 4)
        one, other = model(x)
        loss = nn.functional.cross_entropy(one, x[:, :3].argmax(1))
        loss = loss + nn.functional.cross_entropy(other, x[:, 1:].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
