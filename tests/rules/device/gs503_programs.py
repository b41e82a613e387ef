"""More programs of GS503: each bad one is reported at its marks, each good one by no rule."""


def bad_target_that_only_backward_refuses() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    y = torch.zeros(8, 1, dtype=torch.float64)  # cause: GS503
    loss = nn.functional.huber_loss(model(torch.randn(8, 4)), y)  # effect: GS503
    loss.backward()


def bad_class_target() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    y = torch.zeros(8)  # cause: GS503
    scores = model(torch.randn(8, 4))
    nn.functional.cross_entropy(scores, y)  # effect: GS503


def bad_integer_labels() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    y = torch.zeros(8, dtype=torch.long)  # cause: GS503
    scores = model(torch.randn(8, 4)).squeeze(1)
    nn.functional.binary_cross_entropy_with_logits(scores, y)  # effect: GS503


def bad_half_model() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1).half()
    x = torch.randn(8, 4)  # cause: GS503
    model(x)  # effect: GS503


def good_double_model() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1).double()
    model(torch.randn(8, 4, dtype=torch.float64)) * torch.ones(8, 1)


def bad_target_made_in_the_call() -> None:
    import numpy as np
    import torch
    from torch import nn

    features, classes = np.zeros((8, 3), dtype="float32"), np.zeros(8, dtype="int32")
    model = nn.Linear(3, 2)
    loss = nn.functional.cross_entropy(  # effect: GS503
        model(torch.from_numpy(features)),
        torch.from_numpy(classes),  # cause: GS503
    )
    loss.backward()


def bad_list_of_buffers() -> None:
    """q2925: the buffers are converted, and the list goes on with what they were."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bases = []  # cause: GS503
            for i in range(3):
                self.register_buffer(f"base_{i}", torch.randn(4, 4))
                self.bases.append(getattr(self, f"base_{i}"))
            self.head = nn.Linear(12, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found = []
            for base in self.bases:
                found.append(torch.tanh(x @ base))  # effect: GS503
            y: torch.Tensor = self.head(torch.cat(found, dim=1))
            return y

    net = Net().double()
    net(torch.randn(8, 4, dtype=torch.float64))


def bad_one_plain_attribute() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mixed = torch.randn(4, 4)  # cause: GS503
            self.head = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(x @ self.mixed)  # effect: GS503
            return y

    net = Net().double()
    net(torch.randn(8, 4, dtype=torch.float64))


def bad_data_beside_a_plain_attribute() -> None:  # fix: by hand
    """The module is as it was: the data is what is in another dtype."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mixed = torch.randn(4, 4)
            self.head = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(x @ self.mixed)  # effect: GS503
            return y

    net = Net()
    x = torch.randn(8, 4, dtype=torch.float64)  # cause: GS503
    net(x)
