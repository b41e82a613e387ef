import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, INPUTS, HIDDEN, CLASSES = 40, 30, 64, 3
ALPHA, BETA = 0.8, 0.9


class SurrogateSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (20 * x.abs() + 1) ** 2


spike_fn = SurrogateSpike.apply


class RecurrentSNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(0.3 * torch.randn(INPUTS, HIDDEN) / INPUTS**0.5)
        self.v1 = nn.Parameter(0.2 * torch.randn(HIDDEN, HIDDEN) / HIDDEN**0.5)
        self.w2 = nn.Parameter(torch.randn(HIDDEN, CLASSES) / HIDDEN**0.5)

    def forward(self, inputs):
        n = len(inputs)
        syn, mem = torch.zeros(n, HIDDEN), torch.zeros(n, HIDDEN)
        h1_from_input = torch.einsum("nti,ih->nth", inputs, self.w1)
        feedback, spikes, readout, flt = [], [], [], torch.zeros(n, CLASSES)
        for t in range(STEPS):
            mthr = mem - 1.0
            out = spike_fn(mthr)
            reset = (mthr > 0).float()
            recurrent = out @ self.v1
            h1 = h1_from_input[:, t] + recurrent
            new_syn = ALPHA * syn + h1
            mem = (BETA * mem + syn) * (1.0 - reset)
            syn = new_syn
            flt = BETA * flt + out @ self.w2
            feedback.append(recurrent)
            spikes.append(out)
            readout.append(flt)
        return torch.stack(readout, 1), torch.stack(spikes, 1), torch.stack(feedback, 1)


def latency_data(n, generator):
    fixed = torch.Generator().manual_seed(4)
    times = torch.randint(3, STEPS - 3, (CLASSES, INPUTS), generator=fixed)
    y = torch.randint(CLASSES, (n,), generator=generator)
    jitter = torch.randint(-3, 4, (n, INPUTS), generator=generator)
    return F.one_hot(times[y] + jitter, STEPS).transpose(1, 2).float(), y


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    x, y = latency_data(512, generator)
    model = RecurrentSNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(13):
        for rows in torch.randperm(len(x), generator=generator).split(64):
            out, spikes, feedback = model(x[rows])
            loss = F.cross_entropy(out.amax(1), y[rows]) + 1e-3 * spikes.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 3 == 0:
            with torch.no_grad():
                out, spikes, feedback = model(x)
            acc = (out.amax(1).argmax(1) == y).float().mean()
            silent = spikes.sum(2) == 0
            print(
                f"epoch {epoch}: loss {loss.item():.4f}  accuracy {acc:.3f}  spikes per step {spikes.sum(2).mean():.2f}"
                f"  feedback while no neuron fires {feedback[silent].abs().mean():.4f}"
            )


if __name__ == "__main__":
    main()
