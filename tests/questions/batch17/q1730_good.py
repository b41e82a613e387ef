import torch
import torch.nn as nn
import torch.nn.functional as F


class PolicyNet(nn.Module):
    def __init__(self, cells=16, moves=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cells, 64), nn.ReLU(), nn.Linear(64, moves))

    def forward(self, board):
        return F.softmax(self.body(board), dim=1)


class MergeGame:
    """A 4x4 board; a move is worth the tiles that it merges."""

    def boards(self, n):
        return torch.randint(0, 3, (n, 4, 4))

    def score(self, boards, moves):
        merged_rows = ((boards[:, :, 1:] == boards[:, :, :-1]) * boards[:, :, 1:]).sum(dim=(1, 2))
        merged_cols = ((boards[:, 1:] == boards[:, :-1]) * boards[:, 1:]).sum(dim=(1, 2))
        weight_right = boards[:, :, 3].sum(dim=1) - boards[:, :, 0].sum(dim=1)
        weight_down = boards[:, 3].sum(dim=1) - boards[:, 0].sum(dim=1)
        worth = torch.stack(
            [
                merged_rows - weight_right,
                merged_rows + weight_right,
                merged_cols - weight_down,
                merged_cols + weight_down,
            ],
            dim=1,
        )
        return worth.gather(1, moves.unsqueeze(1)).squeeze(1).float(), worth.float()


def main():
    torch.manual_seed(0)
    game, net = MergeGame(), PolicyNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
    for batch in range(1, 601):
        boards = game.boards(128)
        net_output = net(boards.flatten(1).float())
        moves = torch.multinomial(net_output.detach(), 1).squeeze(1)
        score, _ = game.score(boards, moves)
        reward = (score - score.mean()) / score.std()
        action = F.one_hot(moves, 4).float()
        loss = -((action * net_output).sum(dim=1).log() * reward).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch % 150 == 0:
            test = game.boards(2000)
            with torch.no_grad():
                best = net(test.flatten(1).float()).argmax(dim=1)
            got, worth = game.score(test, best)
            print(f"batch {batch:3d}: loss {loss.item():10.6f}, score per move {got.mean():.3f}", end="")
            print(f" (random {worth.mean():.3f}, best {worth.max(dim=1).values.mean():.3f})")


if __name__ == "__main__":
    main()
