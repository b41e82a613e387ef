import torch

torch.manual_seed(0)


class Arm:
    """Three rods in a plane, each turned against the one before."""

    def __init__(self, lengths):
        self.lengths = lengths
        self.angles = torch.zeros(len(lengths), requires_grad=True)

    def rotation(self, angle):
        cosa, sina = torch.cos(angle), torch.sin(angle)
        return torch.tensor([[cosa, -sina], [sina, cosa]])

    def tip(self):
        position = torch.zeros(2)
        turn = torch.eye(2)
        for length, angle in zip(self.lengths, self.angles, strict=True):
            turn = turn @ self.rotation(angle)
            position = position + turn @ torch.tensor([length, 0.0])
        return position


arm = Arm([1.0, 0.8, 0.5])
goal = torch.tensor([0.6, 1.4])
optimizer = torch.optim.Adam([arm.angles], lr=0.05)
for step in range(1, 151):
    loss = (arm.tip() - goal).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: distance {loss.sqrt().item():.5f}")
