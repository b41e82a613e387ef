"""More programs of GS343: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_states_without_a_name() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(4, 8, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            output, _ = self.layer(x)  # effect: GS343
            return self.head(output[:, -1, :])  # cause: GS343

    model = Tagger()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        x = torch.randn(16, 10, 4)
        loss = nn.functional.mse_loss(model(x), x.mean((1, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_state_of_a_gru() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(4, 8, bidirectional=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(10, 16, 4)
        output, _state = layer(x)  # effect: GS343
        last = output[-1]  # cause: GS343
        loss = nn.functional.mse_loss(head(last), x.mean((0, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_scores_of_all_places_and_then_the_last() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(4, 8, batch_first=True, bidirectional=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 10, 4)
        scores = head(layer(x)[0])  # effect: GS343
        loss = nn.functional.mse_loss(scores[:, -1], x.mean((1, 2))[:, None])  # cause: GS343
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mean_over_the_places() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(4, 8, batch_first=True, bidirectional=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 10, 4)
        loss = nn.functional.mse_loss(head(layer(x)[0].mean(1)), x.mean((1, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sequences_of_one_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(4, 8, batch_first=True, bidirectional=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 1, 4)
        loss = nn.functional.mse_loss(head(layer(x)[0][:, -1]), x.mean((1, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_direction_at_its_own_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(4, 8, batch_first=True, bidirectional=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 10, 4)
        output, _ = layer(x)
        state = torch.cat([output[:, -1, :8], output[:, 0, 8:]], dim=1)
        loss = nn.functional.mse_loss(head(state), x.mean((1, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_first_place_of_one_direction() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 10, 4)
        output, _ = layer(x)  # effect: GS343
        loss = nn.functional.mse_loss(head(output[:, 0]), x.mean((1, 2))[:, None])  # cause: GS343
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_layer_that_is_called_for_one_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()])
    for _ in range(3):
        x = torch.randn(16, 1, 4)
        output, _ = layer(x)
        loss = nn.functional.mse_loss(head(output[:, 0]), x.mean((1, 2))[:, None])
        opt.zero_grad()
        loss.backward()
        opt.step()
